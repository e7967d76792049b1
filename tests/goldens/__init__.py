"""The outputs of every command and the digits of every public function, held by files."""
