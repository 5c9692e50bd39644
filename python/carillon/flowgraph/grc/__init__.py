"""Plans for flowgraphs of GNU Radio, in Carillon's Python; carillon.gnuradio runs them."""
