"""The pages of corrected counts and of judged systems."""
