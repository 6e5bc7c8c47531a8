# Draws roofline.png and roofline.svg from roofline.dat: gnuplot roofline.gp
set encoding utf8
set loadpath '.'
set grid lc rgb '#dddddd'
set border 3
set tics nomirror
set key outside top center horizontal noenhanced
set terminal pngcairo noenhanced size 1200,700 font 'sans,11'
set output 'roofline.png'
set title 'Roofline: this machine''s matrix product reaches 535 GFLOP/s, its copy 39.1 GB/s'
set xlabel 'FLOP per byte'
set ylabel 'GFLOP/s'
set logscale xy
set xrange [0.760976:68.4359]
set yrange [1.45845:1069.08]
set samples 400
roof(x) = 39.054*x < 534.538 ? 39.054*x : 534.538
plot roof(x) with lines lw 2 lc rgb '#888888' title 'roof', \
  'roofline.dat' index 0 using 1:2 with points pt 7 ps 1.2 lc rgb '#0072b2' title 'sd15/128x128/pndm/4', \
  'roofline.dat' index 0 using 1:2:3 with labels left offset 0.8,0.3 font ',9' tc rgb '#0072b2' notitle, \
  'roofline.dat' index 1 using 1:2 with points pt 7 ps 1.2 lc rgb '#d55e00' title 'sd15/128x128/pndm/8', \
  'roofline.dat' index 1 using 1:2:3 with labels left offset 0.8,0.3 font ',9' tc rgb '#d55e00' notitle, \
  'roofline.dat' index 2 using 1:2 with points pt 7 ps 1.2 lc rgb '#009e73' title 'sd20/128x128/ddim/4', \
  'roofline.dat' index 2 using 1:2:3 with labels left offset 0.8,0.3 font ',9' tc rgb '#009e73' notitle, \
  'roofline.dat' index 3 using 1:2 with points pt 7 ps 1.2 lc rgb '#cc79a7' title 'sd20/128x128/ddim/8', \
  'roofline.dat' index 3 using 1:2:3 with labels left offset 0.8,0.3 font ',9' tc rgb '#cc79a7' notitle, \
  'roofline.dat' index 4 using 1:2 with points pt 7 ps 1.2 lc rgb '#e69f00' title 'sdxl/128x128/euler/4', \
  'roofline.dat' index 4 using 1:2:3 with labels left offset 0.8,0.3 font ',9' tc rgb '#e69f00' notitle, \
  'roofline.dat' index 5 using 1:2 with points pt 7 ps 1.2 lc rgb '#56b4e9' title 'sdxl/128x128/euler/8', \
  'roofline.dat' index 5 using 1:2:3 with labels left offset 0.8,0.3 font ',9' tc rgb '#56b4e9' notitle
set terminal svg noenhanced size 1200,700 font 'sans,11' background rgb 'white'
set output 'roofline.svg'
replot
set output
