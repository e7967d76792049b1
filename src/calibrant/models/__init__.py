"""Reference models that train and predict, so that every measurement can be tried on a real model."""
