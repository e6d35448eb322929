"""`strop tune`: a contraction, its loop nest, the moves that change it, and the searches that choose the moves."""
