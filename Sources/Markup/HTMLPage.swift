/// A page that needs no script and no other file, in light and dark.
package enum HTMLPage {
  static let style = """
    :root{color-scheme:light dark;--bg:#fff;--fg:#1c2430;--dim:#5c6675;--line:#dde2e9;--head:#f4f6f9;--pass:#177245;--fail:#b3261e;--skip:#7a8494;--warn:#9a6700}
    @media(prefers-color-scheme:dark){:root{--bg:#12161c;--fg:#e3e8ef;--dim:#98a3b3;--line:#2b333f;--head:#1a2029;--pass:#5fd08f;--fail:#ff8a80;--skip:#8390a2;--warn:#e3b341}}
    *{box-sizing:border-box}body{margin:0;background:var(--bg);color:var(--fg);font:15px/1.5 system-ui,sans-serif}
    main{max-width:76rem;margin:0 auto;padding:1.5rem 1rem 4rem}h1{font-size:1.6rem;margin:0 0 .2rem}h2{font-size:1.15rem;margin:2rem 0 .6rem}
    .dim{color:var(--dim)}.scroll{overflow-x:auto}table{border-collapse:collapse;width:100%}
    th,td{border-bottom:1px solid var(--line);padding:.35rem .6rem;text-align:left;vertical-align:top}th{background:var(--head);font-weight:600}
    td.c,th.c{text-align:center;white-space:nowrap}td.n{text-align:right;font-variant-numeric:tabular-nums}
    .id{font-family:ui-monospace,monospace;white-space:nowrap}.pass{color:var(--pass)}.fail,.error{color:var(--fail);font-weight:600}
    .skip{color:var(--skip)}.expected_fail,.unexpected_pass{color:var(--warn);font-weight:600}
    details{margin:.4rem 0;border:1px solid var(--line);border-radius:6px;padding:.4rem .7rem}summary{cursor:pointer}
    pre{white-space:pre-wrap;overflow-wrap:anywhere;margin:.4rem 0;font:13px/1.45 ui-monospace,monospace;color:var(--dim)}
    """

  package static func page(title: String, body: [String]) -> String {
    """
    <!doctype html>
    <html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
    <title>\(XML.text(title))</title><style>\(style)</style></head><body><main>
    \(body.joined(separator: "\n"))
    </main></body></html>

    """
  }
}
