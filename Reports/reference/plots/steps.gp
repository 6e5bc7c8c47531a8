# Draws steps.png and steps.svg from steps.dat: gnuplot steps.gp
set encoding utf8
set loadpath '.'
set grid lc rgb '#dddddd'
set border 3
set tics nomirror
set key outside top center horizontal noenhanced
set terminal pngcairo noenhanced size 1200,700 font 'sans,11'
set output 'steps.png'
set title 'Time of each denoising step: median over images, band from the 10th to the 90th percentile'
set xlabel 'step'
set ylabel 'ms'
set yrange [0:*]
set xtics 1
plot 'steps.dat' index 0 using 1:3:4 with filledcurves fill transparent solid 0.15 noborder lc rgb '#0072b2' notitle, \
  'steps.dat' index 0 using 1:2 with linespoints pt 7 ps 0.5 lw 2 lc rgb '#0072b2' title 'sd15/512x512/pndm/4', \
  'steps.dat' index 1 using 1:3:4 with filledcurves fill transparent solid 0.15 noborder lc rgb '#d55e00' notitle, \
  'steps.dat' index 1 using 1:2 with linespoints pt 7 ps 0.5 lw 2 lc rgb '#d55e00' title 'sd15/512x512/pndm/8', \
  'steps.dat' index 2 using 1:3:4 with filledcurves fill transparent solid 0.15 noborder lc rgb '#009e73' notitle, \
  'steps.dat' index 2 using 1:2 with linespoints pt 7 ps 0.5 lw 2 lc rgb '#009e73' title 'sd20/768x768/ddim/4', \
  'steps.dat' index 3 using 1:3:4 with filledcurves fill transparent solid 0.15 noborder lc rgb '#cc79a7' notitle, \
  'steps.dat' index 3 using 1:2 with linespoints pt 7 ps 0.5 lw 2 lc rgb '#cc79a7' title 'sd20/768x768/ddim/8', \
  'steps.dat' index 4 using 1:3:4 with filledcurves fill transparent solid 0.15 noborder lc rgb '#e69f00' notitle, \
  'steps.dat' index 4 using 1:2 with linespoints pt 7 ps 0.5 lw 2 lc rgb '#e69f00' title 'sdxl/1024x1024/euler/4', \
  'steps.dat' index 5 using 1:3:4 with filledcurves fill transparent solid 0.15 noborder lc rgb '#56b4e9' notitle, \
  'steps.dat' index 5 using 1:2 with linespoints pt 7 ps 0.5 lw 2 lc rgb '#56b4e9' title 'sdxl/1024x1024/euler/8'
set terminal svg noenhanced size 1200,700 font 'sans,11' background rgb 'white'
set output 'steps.svg'
replot
set output
