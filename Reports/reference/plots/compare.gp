# Draws compare.png and compare.svg from compare.dat: gnuplot compare.gp
set encoding utf8
set loadpath '.'
set grid lc rgb '#dddddd'
set border 3
set tics nomirror
set key outside top center horizontal noenhanced
set terminal pngcairo noenhanced size 1200,700 font 'sans,11'
set output 'compare.png'
set title 'e2e_ns: median and 95 % interval'
set ylabel 'ms'
set yrange [0:*]
set xrange [-0.6:7.6]
set boxwidth 0.36
set style fill solid 0.75 noborder
set xtics ('sd15/512x512/pndm/4' 0, 'sd15/512x512/pndm/8' 1, 'sd20/768x768/ddim/4' 2, 'sd20/768x768/ddim/8' 3, 'sdxl/1024x1024/euler/4' 4, 'sdxl/1024x1024/euler/8' 5, 'smolvlm/128x96/16' 6, 'qwen2vl/128x96/16' 7) rotate by -20 noenhanced
plot 'compare.dat' using ($1-0.2):2 with boxes lc rgb '#0072b2' title 'a', \
  'compare.dat' using ($1+0.2):5 with boxes lc rgb '#d55e00' title 'b', \
  'compare.dat' using ($1-0.2):2:3:4 with yerrorbars pt 0 lw 1.5 lc rgb '#333333' notitle, \
  'compare.dat' using ($1+0.2):5:6:7 with yerrorbars pt 0 lw 1.5 lc rgb '#333333' notitle
set terminal svg noenhanced size 1200,700 font 'sans,11' background rgb 'white'
set output 'compare.svg'
replot
set output
