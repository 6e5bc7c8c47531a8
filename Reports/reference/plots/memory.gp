# Draws memory.png and memory.svg from memory.dat: gnuplot memory.gp
set encoding utf8
set loadpath '.'
set grid lc rgb '#dddddd'
set border 3
set tics nomirror
set key outside top center horizontal noenhanced
set terminal pngcairo noenhanced size 1200,700 font 'sans,11'
set output 'memory.png'
set title 'Memory over time, the first session of each case'
set xlabel 's'
set ylabel 'MiB'
set yrange [0:*]
set xrange [0:*]
set arrow from 0, graph 0 to 0, graph 1 nohead dt 2 lc rgb '#888888'
set label 'sd15/512x512/pndm/4' at 0, graph 0.98 right rotate by 90 offset 0.6,0 font ',8' noenhanced
set arrow from 0.521383, graph 0 to 0.521383, graph 1 nohead dt 2 lc rgb '#888888'
set label 'sd15/512x512/pndm/8' at 0.521383, graph 0.98 right rotate by 90 offset 0.6,0 font ',8' noenhanced
set arrow from 0.884131, graph 0 to 0.884131, graph 1 nohead dt 2 lc rgb '#888888'
set label 'sd20/768x768/ddim/4' at 0.884131, graph 0.98 right rotate by 90 offset 0.6,0 font ',8' noenhanced
set arrow from 1.8647, graph 0 to 1.8647, graph 1 nohead dt 2 lc rgb '#888888'
set label 'sd20/768x768/ddim/8' at 1.8647, graph 0.98 right rotate by 90 offset 0.6,0 font ',8' noenhanced
set arrow from 2.55766, graph 0 to 2.55766, graph 1 nohead dt 2 lc rgb '#888888'
set label 'sdxl/1024x1024/euler/4' at 2.55766, graph 0.98 right rotate by 90 offset 0.6,0 font ',8' noenhanced
set arrow from 4.27292, graph 0 to 4.27292, graph 1 nohead dt 2 lc rgb '#888888'
set label 'sdxl/1024x1024/euler/8' at 4.27292, graph 0.98 right rotate by 90 offset 0.6,0 font ',8' noenhanced
set arrow from 5.44634, graph 0 to 5.44634, graph 1 nohead dt 2 lc rgb '#888888'
set label 'smolvlm/128x96/16' at 5.44634, graph 0.98 right rotate by 90 offset 0.6,0 font ',8' noenhanced
set arrow from 5.46803, graph 0 to 5.46803, graph 1 nohead dt 2 lc rgb '#888888'
plot 'memory.dat' index 0 using 1:2 with lines lw 2 lc rgb '#0072b2' title 'resident', \
  'memory.dat' index 0 using 1:3 with lines lw 2 lc rgb '#d55e00' title 'anonymous (activations, heap)', \
  'memory.dat' index 0 using 1:4 with lines lw 2 lc rgb '#009e73' title 'mapped (weights)', \
  'memory.dat' index 1 using 1:2 with lines lw 2 lc rgb '#0072b2' notitle, \
  'memory.dat' index 1 using 1:3 with lines lw 2 lc rgb '#d55e00' notitle, \
  'memory.dat' index 1 using 1:4 with lines lw 2 lc rgb '#009e73' notitle, \
  'memory.dat' index 2 using 1:2 with lines lw 2 lc rgb '#0072b2' notitle, \
  'memory.dat' index 2 using 1:3 with lines lw 2 lc rgb '#d55e00' notitle, \
  'memory.dat' index 2 using 1:4 with lines lw 2 lc rgb '#009e73' notitle, \
  'memory.dat' index 3 using 1:2 with lines lw 2 lc rgb '#0072b2' notitle, \
  'memory.dat' index 3 using 1:3 with lines lw 2 lc rgb '#d55e00' notitle, \
  'memory.dat' index 3 using 1:4 with lines lw 2 lc rgb '#009e73' notitle, \
  'memory.dat' index 4 using 1:2 with lines lw 2 lc rgb '#0072b2' notitle, \
  'memory.dat' index 4 using 1:3 with lines lw 2 lc rgb '#d55e00' notitle, \
  'memory.dat' index 4 using 1:4 with lines lw 2 lc rgb '#009e73' notitle, \
  'memory.dat' index 5 using 1:2 with lines lw 2 lc rgb '#0072b2' notitle, \
  'memory.dat' index 5 using 1:3 with lines lw 2 lc rgb '#d55e00' notitle, \
  'memory.dat' index 5 using 1:4 with lines lw 2 lc rgb '#009e73' notitle, \
  'memory.dat' index 6 using 1:2 with lines lw 2 lc rgb '#0072b2' notitle, \
  'memory.dat' index 6 using 1:3 with lines lw 2 lc rgb '#d55e00' notitle, \
  'memory.dat' index 6 using 1:4 with lines lw 2 lc rgb '#009e73' notitle, \
  'memory.dat' index 7 using 1:2 with lines lw 2 lc rgb '#0072b2' notitle, \
  'memory.dat' index 7 using 1:3 with lines lw 2 lc rgb '#d55e00' notitle, \
  'memory.dat' index 7 using 1:4 with lines lw 2 lc rgb '#009e73' notitle
set terminal svg noenhanced size 1200,700 font 'sans,11' background rgb 'white'
set output 'memory.svg'
replot
set output
