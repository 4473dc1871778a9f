//! Cases of the board.
