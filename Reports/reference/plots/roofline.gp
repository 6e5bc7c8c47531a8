# Draws roofline.png and roofline.svg from roofline.dat: gnuplot roofline.gp
set encoding utf8
set loadpath '.'
set grid lc rgb '#dddddd'
set border 3
set tics nomirror
set key outside top center horizontal noenhanced
set terminal pngcairo noenhanced size 1200,700 font 'sans,11'
set output 'roofline.png'
set title 'Roofline: this machine''s matrix product reaches 522 GFLOP/s, its copy 42.2 GB/s'
set xlabel 'FLOP per byte'
set ylabel 'GFLOP/s'
set logscale xy
set xrange [2.20017:81.8008]
set yrange [5.70082:1044.47]
set samples 400
roof(x) = 42.1534*x < 522.236 ? 42.1534*x : 522.236
plot roof(x) with lines lw 2 lc rgb '#888888' title 'roof', \
  'roofline.dat' index 0 using 1:2 with points pt 7 ps 1.2 lc rgb '#0072b2' title 'sd15/512x512/pndm/4', \
  'roofline.dat' index 0 using 1:2:3 with labels left offset 0.8,0.3 font ',9' tc rgb '#0072b2' notitle, \
  'roofline.dat' index 1 using 1:2 with points pt 7 ps 1.2 lc rgb '#d55e00' title 'sd15/512x512/pndm/8', \
  'roofline.dat' index 1 using 1:2:3 with labels left offset 0.8,0.3 font ',9' tc rgb '#d55e00' notitle, \
  'roofline.dat' index 2 using 1:2 with points pt 7 ps 1.2 lc rgb '#009e73' title 'sd20/768x768/ddim/4', \
  'roofline.dat' index 2 using 1:2:3 with labels left offset 0.8,0.3 font ',9' tc rgb '#009e73' notitle, \
  'roofline.dat' index 3 using 1:2 with points pt 7 ps 1.2 lc rgb '#cc79a7' title 'sd20/768x768/ddim/8', \
  'roofline.dat' index 3 using 1:2:3 with labels left offset 0.8,0.3 font ',9' tc rgb '#cc79a7' notitle, \
  'roofline.dat' index 4 using 1:2 with points pt 7 ps 1.2 lc rgb '#e69f00' title 'sdxl/1024x1024/euler/4', \
  'roofline.dat' index 4 using 1:2:3 with labels left offset 0.8,0.3 font ',9' tc rgb '#e69f00' notitle, \
  'roofline.dat' index 5 using 1:2 with points pt 7 ps 1.2 lc rgb '#56b4e9' title 'sdxl/1024x1024/euler/8', \
  'roofline.dat' index 5 using 1:2:3 with labels left offset 0.8,0.3 font ',9' tc rgb '#56b4e9' notitle
set terminal svg noenhanced size 1200,700 font 'sans,11' background rgb 'white'
set output 'roofline.svg'
replot
set output
