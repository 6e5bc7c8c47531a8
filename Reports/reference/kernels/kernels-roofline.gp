# Draws kernels-roofline.png and kernels-roofline.svg from kernels-roofline.dat: gnuplot kernels-roofline.gp
set encoding utf8
set loadpath '.'
set grid lc rgb '#dddddd'
set border 3
set tics nomirror
set key outside top center horizontal noenhanced
set terminal pngcairo noenhanced size 1200,700 font 'sans,11'
set output 'kernels-roofline.png'
set title 'Operators of sd15, sd20, sdxl, fast-x86-64-v4-bf16, 2 threads: peak 517 GFLOP/s, 42.4 GB/s'
set xlabel 'FLOP per byte'
set ylabel 'GFLOP/s (of the plain algorithm)'
set logscale xy
set samples 400
set xrange [1:2000]
set yrange [1:2066.7912661922196]
roof(x) = 42.35065624328826*x < 516.6978165480549 ? 42.35065624328826*x : 516.6978165480549
plot roof(x) with lines lw 2 lc rgb '#888888' title 'roof', \
  'kernels-roofline.dat' index 0 using 1:2 with points pt 7 ps 1 lc rgb '#d95f02' title 'conv2d', \
  'kernels-roofline.dat' index 1 using 1:2 with points pt 7 ps 1 lc rgb '#1b6ca8' title 'linear', \
  'kernels-roofline.dat' index 2 using 1:2 with points pt 7 ps 1 lc rgb '#2a9d4a' title 'attention'
set terminal svg noenhanced size 1200,700 font 'sans,11' background rgb 'white'
set output 'kernels-roofline.svg'
replot
set output
