"""What each command does; carillon.cli says how they are called."""
