extension ReportPage {
  /// A light style, or a dark one if the reader's system is dark.
  static let style: StaticString = """
    :root{color-scheme:light dark;--page:#fbfbfa;--panel:#ffffff;--text:#1f2328;--muted:#57606a;--line:#dce1e6;\
    --accent:#1f5fae;--soft:#dbe7f6;--second:#a8641a;--good:#1a6b3c;--warn:#7d5200;--bad:#a82a22}
    @media (prefers-color-scheme:dark){:root{--page:#14171a;--panel:#1b1f24;--text:#e4e8ec;--muted:#9da7b1;\
    --line:#323941;--accent:#7fb2f5;--soft:#223750;--second:#e2b064;--good:#74c794;--warn:#e3b75f;--bad:#f28b82}}
    *{box-sizing:border-box}
    body{margin:0;background:var(--page);color:var(--text);font:15px/1.5 system-ui,"Segoe UI",Roboto,"Noto Sans",\
    "DejaVu Sans",sans-serif;-webkit-text-size-adjust:100%}
    main{max-width:64rem;margin:0 auto;padding:2rem 1.25rem 3rem}
    header{border-bottom:1px solid var(--line);padding-bottom:1rem;margin-bottom:1.5rem}
    h1{font-size:1.6rem;line-height:1.25;font-weight:600;margin:0;overflow-wrap:anywhere}
    h2{font-size:1.3rem;font-weight:600;margin:2.25rem 0 .75rem;overflow-wrap:anywhere}
    h3{font-size:.95rem;font-weight:600;margin:1.5rem 0 .5rem}
    p{margin:.4rem 0;max-width:46rem}
    .subtitle{color:var(--muted);overflow-wrap:anywhere;max-width:none}
    .status{font-weight:600}
    .good{color:var(--good)}.warn{color:var(--warn)}.bad{color:var(--bad)}.plain,.note,.quiet{color:var(--muted)}
    .name{font:.86em/1.5 ui-monospace,"SF Mono","DejaVu Sans Mono",Menlo,Consolas,monospace;overflow-wrap:anywhere}
    h2 .name{font:inherit}
    a{color:var(--accent)}
    .tiles{display:flex;flex-wrap:wrap;gap:.75rem;margin:0}
    .tiles div{flex:1 1 9rem;min-width:0;overflow-wrap:anywhere;background:var(--panel);border:1px solid var(--line);border-radius:6px;padding:.6rem .8rem}
    .tiles dt{color:var(--muted);font-size:.82rem}
    .tiles dd{margin:0}
    .value{display:block;white-space:nowrap;font-size:1.25rem;font-weight:600;line-height:1.35;font-variant-numeric:tabular-nums}
    .note{display:block;font-size:.82rem}
    .charts{display:flex;flex-wrap:wrap;gap:1rem}
    figure{container-type:inline-size;flex:1 1 min(100%,18rem);margin:0;background:var(--panel);border:1px solid var(--line);border-radius:6px;padding:.75rem .75rem .35rem}
    figcaption{font-size:.88rem;font-weight:600;padding:0 .25rem .25rem}
    figcaption .note{font-weight:400}
    svg{display:block;width:100%;height:auto;overflow:visible}
    svg text{fill:var(--muted);font-size:12px;font-variant-numeric:tabular-nums}
    @container (max-width:26rem){svg text{font-size:15px}}
    @container (max-width:21rem){svg text{font-size:18px}}
    .grid,.axis,.line,.line2{vector-effect:non-scaling-stroke}
    .grid{stroke:var(--line);stroke-width:1}
    .axis{stroke:var(--muted);stroke-width:1}
    .area{fill:var(--soft)}
    .line{fill:none;stroke:var(--accent);stroke-width:1.75;stroke-linejoin:round}
    .line2{fill:none;stroke:var(--second);stroke-width:1.5;stroke-dasharray:6 4;stroke-linejoin:round}
    .bar{fill:var(--accent)}.bar2{fill:var(--second)}
    .key{display:inline-block;width:.75em;height:.75em;border-radius:2px;margin:0 .35em 0 .75em}
    .key1{background:var(--accent)}.key2{background:var(--second)}
    .scroll{overflow-x:auto;--edge:rgba(127,127,127,.45);\
    background:linear-gradient(90deg,var(--panel) 40%,transparent) left/2.5rem 100% no-repeat local,\
    linear-gradient(270deg,var(--panel) 40%,transparent) right/2.5rem 100% no-repeat local,\
    linear-gradient(90deg,var(--edge),transparent) left/.7rem 100% no-repeat scroll,\
    linear-gradient(270deg,var(--edge),transparent) right/.7rem 100% no-repeat scroll,var(--panel);border:1px solid var(--line);border-radius:6px;margin:.75rem 0}
    .scroll:focus-visible{outline:2px solid var(--accent)}
    table{border-collapse:collapse;width:100%;font-size:.9rem}
    caption{text-align:left;color:var(--muted);font-size:.85rem;padding:.55rem .8rem .35rem}
    caption span{position:sticky;left:.8rem;display:inline-block;max-width:min(46rem,calc(100vw - 4rem))}
    .pair{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,24rem),1fr));gap:0 1rem;align-items:start}
    .pair .scroll{margin:0 0 .75rem}
    th,td{text-align:left;vertical-align:top;padding:.34rem .8rem;border-top:1px solid var(--line)}
    th{color:var(--muted);font-weight:500;font-size:.82rem;white-space:nowrap}
    td{min-width:4.5rem}
    .number{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums;min-width:0}
    .fixed{white-space:nowrap;font-variant-numeric:tabular-nums}
    footer{margin-top:3rem;border-top:1px solid var(--line);color:var(--muted);font-size:.82rem}
    @media (max-width:40rem){main{padding:1.25rem .8rem 2rem}.tiles{gap:.5rem}.tiles div{flex-basis:40%}\
    .value{font-size:1.05rem}h1{font-size:1.3rem}th,td{padding:.3rem .55rem}}
    @media print{body{background:none}figure,.tiles div,.scroll{break-inside:avoid}}

    """
}
