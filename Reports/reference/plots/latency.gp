# Draws latency.png and latency.svg from latency.dat: gnuplot latency.gp
set encoding utf8
set loadpath '.'
set grid lc rgb '#dddddd'
set border 3
set tics nomirror
set key outside top center horizontal noenhanced
set terminal pngcairo noenhanced size 1200,700 font 'sans,11'
set output 'latency.png'
set title 'Time of a request against denoising steps: median, 95 % interval of 5 sessions or more, else ± MAD'
set xlabel 'denoising steps'
set ylabel 'ms'
set yrange [0:*]
set offsets graph 0.03, graph 0.03, graph 0.05, 0
set xtics ('4' 4, '8' 8)
plot 'latency.dat' index 0 using 1:2:3:4 with yerrorbars pt 7 ps 0.8 lw 1.5 lc rgb '#0072b2' notitle, \
  'latency.dat' index 0 using 1:2 with lines lw 2 lc rgb '#0072b2' title 'sd15 512x512 pndm', \
  'latency.dat' index 1 using 1:2:3:4 with yerrorbars pt 7 ps 0.8 lw 1.5 lc rgb '#d55e00' notitle, \
  'latency.dat' index 1 using 1:2 with lines lw 2 lc rgb '#d55e00' title 'sd20 768x768 ddim', \
  'latency.dat' index 2 using 1:2:3:4 with yerrorbars pt 7 ps 0.8 lw 1.5 lc rgb '#009e73' notitle, \
  'latency.dat' index 2 using 1:2 with lines lw 2 lc rgb '#009e73' title 'sdxl 1024x1024 euler'
set terminal svg noenhanced size 1200,700 font 'sans,11' background rgb 'white'
set output 'latency.svg'
replot
set output
