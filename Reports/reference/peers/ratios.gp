# gnuplot ratios.gp: how many times faster than its peer genbench is, by workload.
if (!exists("format")) format = "png"
if (format eq "svg") { set terminal svg size 1000,750 font "sans,13" background "white"; set output "ratios.svg" } \
else { set terminal pngcairo size 1000,750 font "sans,11"; set output "ratios.png" }
set title "Peer's time / genbench's time on AMD EPYC, 2 threads" noenhanced
set xlabel "ratio of medians (bar), range of the rounds (line), aim (diamond); right of 1 genbench is faster"
set logscale x 2
set xtics (0.25, 0.5, 0.75, 1, 1.2, 1.5, 2, 3, 4, 6, 8, 12, 16)
set xrange [0.450:9.059]
set yrange [-0.6:15.6]
set grid x lc rgb "#dddddd"
set ytics noenhanced
set key off
set arrow 1 from 1, graph 0 to 1, graph 1 nohead lc rgb "#444444" lw 1.5
set style fill solid 0.85 noborder
colour(ratio, aim) = (ratio < 1 ? 0xc8553d : (ratio < aim ? 0xe0a030 : 0x2a9d5c))
plot "ratios.dat" using (1):1:(1):2:($1 - 0.32):($1 + 0.32):(colour($2, $5)):ytic(8) with boxxyerror lc rgb variable, \
  "" using 2:1:3:4 with xerrorbars pt 0 lw 2 lc rgb "#222222", \
  "" using ($5 > 0 ? $5 : NaN):1 with points pt 13 ps 1.6 lc rgb "#1f4e9c", \
  "" using 6:1:(sprintf("  %.2f", $2)) with labels left font ",10"
