"""Intel Xe-HPG and Xe-HPC: zebin files through iga64, synchronisation from the bits."""
