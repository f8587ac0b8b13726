//! A run as a JUnit report, for CI servers: a suite for each target, a case for each test.

use super::failure::plain_report;
use super::json::LeftOut;
use crate::event::{Conclusion, Record, Tally};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

/// The report. It follows the schema of Jenkins' xUnit plugin. What is proved is said without the packages that are `left_out`: those are
/// properties of each suite.
pub(crate) fn document(
    names: &[String],
    tally: &Tally,
    seconds: f64,
    root: &Path,
    left_out: &[LeftOut],
) -> String {
    let mut suites: BTreeMap<String, Vec<(&str, &Record)>> = BTreeMap::new();
    for (name, record) in names.iter().zip(&tally.records) {
        let mut parts = name.splitn(3, "::");
        let suite = [parts.next(), parts.next()].into_iter().flatten().collect::<Vec<_>>().join("::");
        suites.entry(suite).or_default().push((parts.next().unwrap_or(name), record));
    }
    let all: Vec<&Record> = tally.records.iter().collect();
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let counts = counts(&all);
    // Writing to a text does not fail.
    let _ = writeln!(text, "<testsuites name=\"cargo icb\" {counts} time=\"{seconds:.3}\">");
    for (suite, cases) in &suites {
        let records: Vec<&Record> = cases.iter().map(|(_, record)| *record).collect();
        let time: f64 = records.iter().map(|record| time_of(record)).sum();
        let name = escaped(suite);
        let _ = writeln!(
            text,
            "  <testsuite name=\"{name}\" {} skipped=\"{}\" time=\"{time:.3}\">",
            self::counts(&records),
            records.iter().filter(|record| is_skipped(record)).count()
        );
        text += &properties(left_out);
        for (test, record) in cases {
            text += &case(suite, test, record, root);
        }
        text += "  </testsuite>\n";
    }
    text + "</testsuites>\n"
}

fn properties(left_out: &[LeftOut]) -> String {
    if left_out.is_empty() {
        return String::new();
    }
    let property = |package: &LeftOut| {
        let value = escaped(&format!("{}: {}", package.name(), package.reason));
        format!("      <property name=\"not instrumented\" value=\"{value}\"/>\n")
    };
    let properties: String = left_out.iter().map(property).collect();
    format!("    <properties>\n{properties}    </properties>\n")
}

fn case(suite: &str, test: &str, record: &Record, root: &Path) -> String {
    let name = format!("{suite}::{test}");
    let mut text = format!(
        "    <testcase name=\"{}\" classname=\"{}\" time=\"{:.3}\">\n",
        escaped(test),
        escaped(suite),
        time_of(record)
    );
    let element = |element: &str, kind: &str, message: &str, body: &str| {
        format!(
            "      <{element} type=\"{}\" message=\"{}\">{}</{element}>\n",
            escaped(kind),
            escaped(message),
            escaped(body)
        )
    };
    let report = || plain_report(&name, record, root);
    match record.conclusion() {
        Conclusion::Failed(message) => {
            let finding = record.rounds.last().and_then(|round| round.finding.as_ref());
            let kind = finding.map_or("failure", |finding| finding.failure.kind.words());
            text += &element("failure", kind, &message, &report());
        }
        Conclusion::Refused(message) => text += &element("error", "refused", &message, &report()),
        Conclusion::Broken(message) => text += &element("error", "error", &message, &report()),
        Conclusion::Incomplete(message) => text += &element("skipped", "incomplete", &message, ""),
        Conclusion::Proved(message)
        | Conclusion::FailsAsExpected(message)
        | Conclusion::Unmodelled(message) => {
            text += &format!("      <system-out>{}</system-out>\n", escaped(&message));
        }
        Conclusion::RunOnce => {}
    }
    text + "    </testcase>\n"
}

fn counts(records: &[&Record]) -> String {
    let mut failures = 0;
    let mut errors = 0;
    for record in records {
        match record.conclusion() {
            Conclusion::Failed(_) => failures += 1,
            Conclusion::Refused(_) | Conclusion::Broken(_) => errors += 1,
            _ => {}
        }
    }
    format!("tests=\"{}\" failures=\"{failures}\" errors=\"{errors}\"", records.len())
}

/// A test that was cut short has neither passed nor failed.
fn is_skipped(record: &Record) -> bool {
    matches!(record.conclusion(), Conclusion::Incomplete(_))
}

fn time_of(record: &Record) -> f64 {
    record.rounds.iter().map(|round| round.seconds).sum()
}

/// A text as XML allows it: characters that it cannot hold at all are left out.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for character in text.chars() {
        match character {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            '\n' | '\t' => escaped.push(character),
            '\u{0}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => {}
            _ => escaped.push(character),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_that_are_not_instrumented_are_properties_of_each_suite() {
        let names = ["p::lib::a", "p::tests::b"].map(str::to_owned);
        let said = |left_out: &[LeftOut]| document(&names, &Tally::new(2), 0.5, Path::new("."), left_out);
        let [package, version, reason] = ["p", "1.0.0", "<asm>"].map(str::to_owned);
        let property = "<property name=\"not instrumented\" value=\"p 1.0.0: &lt;asm&gt;\"/>";
        assert_eq!(said(&[LeftOut { package, version, reason }]).matches(property).count(), 2);
        assert!(!said(&[]).contains("propert"));
    }

    #[test]
    fn what_xml_cannot_hold_is_escaped_or_left_out() {
        assert_eq!(escaped("a<b> & \"c\"\u{7}\n→"), "a&lt;b&gt; &amp; &quot;c&quot;\n→");
    }
}
