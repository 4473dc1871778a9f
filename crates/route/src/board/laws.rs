//! Laws of the board.
