#!/usr/bin/env bash
# Makes Reports/reference/: one run of the small models by two identical sides, its comparison with itself, page and figures.
#   scripts/reference-report.sh [GENBENCH]       the program, by default .build/release/genbench
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
genbench="${1:-.build/release/genbench}"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
target="Reports/reference"
mkdir -p "$target"
# The comparison with peers, the operators and the small models' pictures are made by other commands, and stay.
find "$target" -mindepth 1 -maxdepth 1 ! -name peers ! -name kernels ! -name small-models -exec rm -rf {} +

"$genbench" doctor >"$target/doctor.txt"
"$genbench" run --variant sd15,sd20,sdxl,smolvlm,qwen2vl --steps 4,8 --max-tokens 16 --prompts 2 --sessions 10 \
  --side a:env.GENBENCH_SIDE=a --side b:env.GENBENCH_SIDE=b --out "$work/run" >"$work/table.txt"
"$genbench" baseline save reference "$work/run" --store "$work/store"
cp "$work/store/baselines/reference.json" "$target/run.json"
"$genbench" report md "$work/run#a" >"$target/run.md"
"$genbench" compare "$work/run" --gate --all >"$target/a-against-a.txt"
"$genbench" report html "$work/run#a" --out "$target/report.html"
for kind in steps memory latency roofline; do "$genbench" plot "$kind" "$work/run#a" --out "$target/plots" >/dev/null; done
"$genbench" plot compare "$work/run" --out "$target/plots" >/dev/null
# Names and places of the machine that measured are nobody's business.
sed -i.bak -e "s#$work/##g" "$target"/*.txt "$target"/*.md "$target"/*.html "$target"/run.json "$target"/plots/*.gp
rm -f "$target"/*.bak "$target"/plots/*.bak
cat >"$target/README.md" <<README
# A reference run
Made on $(date -u +%Y-%m-%d) by \`scripts/reference-report.sh\`: the small models, 10 sessions of each of two sides that are one and the same.
Speeds are of that machine ([doctor.txt](doctor.txt) says how steady it was), so that they're an example of what the reports look like,
not a claim about the engine.

| file | content |
|---|---|
| \`run.json\` | the run as a baseline: session medians, summaries, environment |
| \`run.md\`, \`report.html\` | the run of side a |
| \`a-against-a.txt\` | both sides compared: nothing may have changed |
| \`plots/\` | figures, with their \`.gp\` and \`.dat\` |
| \`peers/\` | genbench against torch, stable-diffusion.cpp and llama.cpp: \`scripts/peers/compare.py\` |
| \`small-models/\` | 24 pictures of each small model for prompts kept from its training (\`scripts/train/judge.py … --sheet\`), and quality per millisecond (\`scripts/train/quality.py\`) |
| \`kernels/\` | every operator at the published models' shapes: \`genbench run --suite kernels\` |
README
echo "made $target"
