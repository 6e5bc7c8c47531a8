import Markup

/// The job files that run a plan in parts on many machines; they're printed, never submitted.
public struct JobFile: Sendable {
  /// What runs the parts.
  public enum Kind: String, Sendable, CaseIterable {
    /// A script for `sbatch`: an array, and a merge job that waits for it.
    case slurm
    /// A script around GNU parallel.
    case parallel
    /// An Indexed Job of Kubernetes.
    case k8s
    /// A workflow with a matrix.
    case github
  }

  /// Options that belong to the whole rather than to a part, and whether a value follows.
  private static let wholeOptions: [String: Bool] = [
    "--emit": true, "--shards": true, "--shard": true, "--out": true, "-o": true, "--merge": true, "--merge-anyway": false,
    "--dry-run": false, "--json": false,
  ]

  private let words: [String]
  private let shards: Int
  private let out: String

  /// Makes a description.
  ///
  /// - Parameters:
  ///   - words: The command line of the whole run, with or without its verb.
  ///   - shards: How many parts.
  ///   - out: The folder for the merged run; parts are beside it.
  public init(words: [String], shards: Int, out: String) {
    var kept: [String] = []
    var rest = (words.first == "run" ? words.dropFirst() : words[...])
    while let word = rest.popFirst() {
      let name = word.split(separator: "=", maxSplits: 1).first.map(String.init) ?? word
      guard let takesValue = Self.wholeOptions[name] else {
        kept.append(word)
        continue
      }
      if takesValue, !word.contains("=") { rest = rest.dropFirst() }
    }
    self.words = kept
    self.shards = shards
    self.out = out
  }

  /// The job file.
  public func text(_ kind: Kind) -> String {
    switch kind {
    case .slurm: slurm
    case .parallel: parallel
    case .k8s: kubernetes
    case .github: github
    }
  }

  private var options: String { Shell.command(words) }
  private var partFolder: String { Shell.word(out) + "-parts" }
  private var mergeOptions: String { (1...shards).map { "--merge \(partFolder)/\($0)" }.joined(separator: " ") }

  private var slurm: String {
    """
    #!/bin/bash
    # \(shards) parts as a job array, and a merge job that starts when all of them ended well: run this script itself, not sbatch.
    # GENBENCH names the program; SBATCH_ARGS has what the cluster wants: --partition, --account, --exclusive.
    set -euo pipefail
    genbench="${GENBENCH:-genbench}"
    parts=\(partFolder)
    mkdir -p "$parts"

    array=$(sbatch --parsable --job-name=genbench --array=1-\(shards) --output="$parts/%a.log" ${SBATCH_ARGS:-} <<JOB
    #!/bin/bash
    exec "$genbench" run --shard "\\$SLURM_ARRAY_TASK_ID/\(shards)" --out "$parts/\\$SLURM_ARRAY_TASK_ID" \(Shell.hereDocument(options))
    JOB
    )
    merge=$(sbatch --parsable --job-name=genbench-merge --dependency="afterok:$array" --kill-on-invalid-dep=yes \\
      --output="$parts/merge.log" ${SBATCH_ARGS:-} <<JOB
    #!/bin/bash
    exec "$genbench" run --out \(Shell.hereDocument(Shell.word(out))) \(Shell.hereDocument(mergeOptions))
    JOB
    )
    echo "array $array, merge $merge"

    """
  }

  private var parallel: String {
    """
    #!/bin/bash
    # \(shards) parts with GNU parallel; PARALLEL_ARGS may name hosts: --sshlogin a,b. One job a machine, or they disturb each other.
    set -euo pipefail
    genbench="${GENBENCH:-genbench}"
    parts=\(partFolder)
    mkdir -p "$parts"
    parallel --quote --will-cite --jobs 1 --joblog "$parts/joblog" --resume-failed ${PARALLEL_ARGS:-} \\
      "$genbench" run --shard {}/\(shards) --out "$parts"/{} \(options) ::: $(seq \(shards))
    "$genbench" run --out \(Shell.word(out)) \(mergeOptions)

    """
  }

  private var kubernetes: String {
    let arguments =
      ["exec genbench run --shard auto --out /results/$JOB_COMPLETION_INDEX \(options)".trimmingEnd()]
      .map(YAML.string).joined(separator: ", ")
    return """
      # \(shards) parts as an Indexed Job. Name your image, and a volume that all parts and the merge can write to.
      # Merge when it's complete: genbench run --out merged \((0..<shards).map { "--merge /results/\($0)" }.joined(separator: " "))
      apiVersion: batch/v1
      kind: Job
      metadata:
        name: genbench
      spec:
        completionMode: Indexed
        completions: \(shards)
        parallelism: \(shards)
        backoffLimit: 0
        template:
          spec:
            restartPolicy: Never
            # Two parts on one node would disturb each other's times.
            affinity:
              podAntiAffinity:
                requiredDuringSchedulingIgnoredDuringExecution:
                  - topologyKey: kubernetes.io/hostname
                    labelSelector:
                      matchLabels:
                        job-name: genbench
            containers:
              - name: genbench
                image: genbench:latest
                command: ["/bin/sh", "-c"]
                args: [\(arguments)]
                env:
                  - name: JOB_COMPLETIONS
                    value: "\(shards)"
                volumeMounts:
                  - name: results
                    mountPath: /results
            volumes:
              - name: results
                persistentVolumeClaim:
                  claimName: genbench-results

      """
  }

  private var github: String {
    let matrix = (1...shards).map(String.init).joined(separator: ", ")
    let command = "genbench run --shard ${{ matrix.shard }}/\(shards) --out part-${{ matrix.shard }} \(options)".trimmingEnd()
    return """
      # \(shards) parts as a matrix, then the merge. Put the building of genbench in the place of the two marked steps.
      name: benchmark
      on: workflow_dispatch
      permissions:
        contents: read
      jobs:
        part:
          runs-on: ubuntu-latest
          strategy:
            fail-fast: false
            matrix:
              shard: [\(matrix)]
          steps:
            - uses: actions/checkout@v4
            - run: scripts/bootstrap.sh && swift build -c release && echo "$PWD/.build/release" >> "$GITHUB_PATH" # build
            - run: \(YAML.string(command))
            - uses: actions/upload-artifact@v4
              if: always()
              with:
                name: part-${{ matrix.shard }}
                path: part-${{ matrix.shard }}
        merge:
          needs: part
          runs-on: ubuntu-latest
          steps:
            - uses: actions/checkout@v4
            - run: scripts/bootstrap.sh && swift build -c release && echo "$PWD/.build/release" >> "$GITHUB_PATH" # build
            - uses: actions/download-artifact@v4
              with:
                path: parts
            - run: genbench run --out merged \((1...shards).map { "--merge parts/part-\($0)" }.joined(separator: " "))
            - run: genbench report md merged >> "$GITHUB_STEP_SUMMARY"
            - uses: actions/upload-artifact@v4
              with:
                name: merged
                path: merged

      """
  }
}

extension String {
  fileprivate func trimmingEnd() -> String {
    var text = self[...]
    while text.last == " " { text.removeLast() }
    return String(text)
  }
}
