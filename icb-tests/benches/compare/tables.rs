//! The tables, in Markdown.

use crate::measure::{Result, Row, last_bound, median};

fn thousands(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn ratio(value: Option<f64>) -> String {
    value.map_or_else(|| "–".to_owned(), |value| format!("{value:.1}"))
}

/// How often `icb`'s executions a second contain `other`'s.
fn faster(row: &Row, other: Option<&Result>) -> Option<f64> {
    other.map(|other| row.plain.rate() / other.rate())
}

/// How often the seconds that one of icb's searches takes are contained in `other`'s.
fn sooner(own: &Result, other: Option<&Result>) -> Option<f64> {
    other.map(|other| other.second() / own.second())
}

/// A line for each program and tool.
pub(crate) fn print_suite(rows: &[Row]) {
    println!(
        "\n## Each tool on each program\n\n\
         `ms`: to exhaust all bounds up to the last. `icb`: with its reduction, the default; `icb, all`: every execution\n\
         run; `icb at once`: with its reduction, each bound without those below it, which is what loom does. A step is a visible operation of the text. Ratios: how many times as many executions a second `icb, all` runs,\n\
         and how many times as long as `icb` the tool takes.\n"
    );
    println!(
        "| program | tool | executions with at most 0, 1, … preemptions | ms | executions/s | steps of one | ns/step | MiB \
         | executions/s, icb all: × | ms, icb: × |"
    );
    println!("|---|---|---|---:|---:|---:|---:|---:|---:|---:|");
    for row in rows {
        let tools = [
            ("loom", row.loom.as_ref()),
            ("shuttle", Some(&row.shuttle)),
            ("icb, all", Some(&row.plain)),
            ("icb", Some(&row.reduced)),
            ("icb at once", Some(&row.at_once)),
        ];
        for (name, tool) in tools {
            let Some(tool) = tool else {
                println!("| `{}` | {name} | cannot: at most 5 threads | | | | | | | |", row.name);
                continue;
            };
            let counts: Vec<String> = tool.executions.iter().map(|&n| thousands(n as f64)).collect();
            let memory =
                tool.memory.map_or_else(|| "?".to_owned(), |kib| format!("{:.1}", kib as f64 / 1024.0));
            let own = name.starts_with("icb");
            println!(
                "| `{}` | {name} | {} | {:.2} | {} | {:.1} | {:.0} | {memory} | {} | {} |",
                row.name,
                counts.join(" · "),
                tool.second() * 1e3,
                thousands(tool.rate()),
                tool.steps,
                tool.ns_per_step(),
                if own { String::new() } else { ratio(faster(row, Some(tool))) },
                if name == "icb" { String::new() } else { ratio(sooner(&row.reduced, Some(tool))) },
            );
        }
    }
}

/// Searches without a bound.
pub(crate) fn print_unbounded(rows: &[Row]) {
    println!(
        "\n## Without a bound, each with its reduction\n\n\
         Where loom's search ends within seconds.\n\n\
         | program | states | executions: loom | icb | at once | ms: loom | icb | at once | loom/icb | loom/at once |\n\
         |---|---:|---:|---:|---:|---:|---:|---:|---:|---:|"
    );
    let (mut ratios, mut at_once) = (Vec::new(), Vec::new());
    for row in rows {
        let Some(unbounded) = &row.unbounded else { continue };
        let (loom, icb, once) = (unbounded.loom, unbounded.icb, unbounded.at_once);
        ratios.push(loom.1 / icb.1);
        at_once.push(loom.1 / once.1);
        println!(
            "| `{}` | {} | {} | {} | {} | {:.2} | {:.2} | {:.2} | {:.1} | {:.1} |",
            row.name,
            thousands(unbounded.states as f64),
            thousands(loom.0 as f64),
            thousands(icb.0 as f64),
            thousands(once.0 as f64),
            loom.1 * 1e3,
            icb.1 * 1e3,
            once.1 * 1e3,
            loom.1 / icb.1,
            loom.1 / once.1,
        );
    }
    println!("\nseconds, loom/icb: {}; loom/icb at once: {}", summary(&ratios), summary(&at_once));
}

/// A line for each program: what the README quotes.
pub(crate) fn print_short(rows: &[Row]) {
    println!(
        "\n## In short\n\n\
         | program | bound | states | executions: loom | shuttle | icb, all | icb | at once | ms: loom | shuttle | icb | at once \
         | executions/s: icb all | ÷ loom | ÷ shuttle | ms: loom ÷ icb | shuttle ÷ icb | loom ÷ at once |\n\
         |---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|"
    );
    for row in rows {
        let or_dash = |text: Option<String>| text.unwrap_or_else(|| "–".to_owned());
        let loom = row.loom.as_ref();
        println!(
            "| `{}` | {} | {} | {} | {} | {} | {} | {} | {} | {:.2} | {:.2} | {:.2} | {} | {} | {} | {} | {} | {} |",
            row.name,
            last_bound(row.name),
            thousands(row.states as f64),
            or_dash(loom.map(|loom| thousands(loom.total() as f64))),
            thousands(row.shuttle.total() as f64),
            thousands(row.plain.total() as f64),
            thousands(row.reduced.total() as f64),
            thousands(row.at_once.total() as f64),
            or_dash(loom.map(|loom| format!("{:.2}", loom.second() * 1e3))),
            row.shuttle.second() * 1e3,
            row.reduced.second() * 1e3,
            row.at_once.second() * 1e3,
            thousands(row.plain.rate()),
            ratio(faster(row, loom)),
            ratio(faster(row, Some(&row.shuttle))),
            ratio(sooner(&row.reduced, loom)),
            ratio(sooner(&row.reduced, Some(&row.shuttle))),
            ratio(sooner(&row.at_once, loom)),
        );
    }
    let all = |of: fn(&Row) -> Option<f64>| summary(&rows.iter().filter_map(of).collect::<Vec<f64>>());
    println!("\nexecutions a second, icb/loom: {}", all(|row| faster(row, row.loom.as_ref())));
    println!("executions a second, icb/shuttle: {}", all(|row| faster(row, Some(&row.shuttle))));
    println!(
        "seconds to exhaust the last bound, loom/icb: {}",
        all(|row| sooner(&row.reduced, row.loom.as_ref()))
    );
    println!(
        "seconds to exhaust the last bound, loom/icb at once: {}",
        all(|row| sooner(&row.at_once, row.loom.as_ref()))
    );
    println!(
        "seconds to exhaust the last bound, shuttle/icb: {}",
        all(|row| sooner(&row.reduced, Some(&row.shuttle)))
    );
    println!(
        "seconds to exhaust the last bound, icb without a reduction/with: {}; with, at once: {}",
        all(|row| sooner(&row.reduced, Some(&row.plain))),
        all(|row| sooner(&row.at_once, Some(&row.plain)))
    );
}

fn summary(ratios: &[f64]) -> String {
    let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
    format!("median {:.1}, least {least:.1}", median(ratios))
}
