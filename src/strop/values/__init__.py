"""What travels between the parts of strop: frozen values with a JSON form. They import nothing but the errors."""
