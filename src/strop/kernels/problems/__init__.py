"""The families of problems that come with strop, one file each."""
