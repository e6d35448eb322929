"""The layers between foreign code and this machine; ``layers`` lists them, ``launch`` puts them on."""
