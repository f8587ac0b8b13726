//! The failures of a run in the Static Analysis Results Interchange Format (SARIF 2.1.0), which editors and code hosts
//! show beside the source: where it fails, and the steps that lead there.

use super::json::LeftOut;
use crate::event::{Finding, Tally};
use icb_core::trace::table::{self, step_words};
use icb_core::trace::{Failure, FailureKind, SourceLocation, Step, Trace};
use serde_json::{Value, json};
use std::path::Path;

/// Where the format is described.
const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

/// The document. What is proved is said without the packages that are `left_out`: those are notifications of the run.
pub(crate) fn document(names: &[String], tally: &Tally, root: &Path, left_out: &[LeftOut]) -> String {
    let findings: Vec<(&String, &Finding)> = names
        .iter()
        .zip(&tally.records)
        .filter_map(|(name, record)| Some((name, record.rounds.last()?.finding.as_ref()?)))
        .collect();
    let mut kinds: Vec<FailureKind> = findings.iter().map(|(_, finding)| finding.failure.kind).collect();
    kinds.sort_by_key(|kind| kind.words());
    kinds.dedup();
    let rules: Vec<Value> = kinds
        .iter()
        .map(|kind| json!({ "id": rule(*kind), "shortDescription": { "text": kind.words() } }))
        .collect();
    let results: Vec<Value> = findings.iter().map(|(name, finding)| result(name, finding, root)).collect();
    let notification = |package: &LeftOut| {
        let text = format!("not instrumented {}: {}", package.name(), package.reason);
        json!({ "level": "warning", "message": { "text": text } })
    };
    let notifications: Vec<Value> = left_out.iter().map(notification).collect();
    let document = json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "cargo icb",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "informationUri": "https://crates.io/crates/cargo-icb",
                "rules": rules,
            }},
            "originalUriBaseIds": { "ROOT": { "uri": format!("file://{}/", escaped(&root.display().to_string())) } },
            "invocations": [{ "executionSuccessful": true, "toolConfigurationNotifications": notifications }],
            "results": results,
        }],
    });
    format!("{document:#}\n")
}

fn result(name: &str, finding: &Finding, root: &Path) -> Value {
    let failure = &finding.failure;
    let mut result = json!({
        "ruleId": rule(failure.kind),
        "level": "error",
        "message": { "text": format!("{name}: {failure}") },
        "locations": [],
        "partialFingerprints": { "testAndKind/v1": format!("{name}:{}", rule(failure.kind)) },
    });
    if let Some(place) = place_of(failure) {
        result["locations"] = json!([{ "physicalLocation": physical(place, root) }]);
    }
    let steps = flow(failure, root);
    if !steps.is_empty() {
        result["codeFlows"] = json!([{ "threadFlows": [{ "locations": steps }] }]);
    }
    if let Some(command) = &finding.command {
        result["properties"] = json!({ "replay": command, "schedule": failure.schedule.to_string() });
    }
    result
}

/// The steps that matter, each with what it does.
fn flow(failure: &Failure, root: &Path) -> Vec<Value> {
    let selected = table::selection(failure);
    let words = step_words(failure, &[root.to_path_buf()]);
    let steps = failure
        .trace
        .steps
        .iter()
        .enumerate()
        .filter(|(position, _)| selected.as_ref().is_none_or(|selected| selected.contains_key(position)));
    steps
        .filter_map(|(position, step)| {
            let place = in_program(&failure.trace, step)?;
            Some(json!({
                "location": {
                    "physicalLocation": physical(place, root),
                    "message": { "text": format!("{} {}", step.thread, words[position]) },
                },
                "executionOrder": position + 1,
            }))
        })
        .collect()
}

/// Where it fails; for a deadlock where the first thread waits.
fn place_of(failure: &Failure) -> Option<&SourceLocation> {
    let waiting = || failure.waiting.iter().find_map(|entry| entry.location.as_ref());
    let last = || failure.trace.steps.iter().rev().find_map(|step| in_program(&failure.trace, step));
    failure.location.as_ref().or_else(waiting).or_else(last)
}

/// Where the program has come to a step: what a guard that goes does is done in a file of the library, which nobody can open here.
fn in_program<'a>(trace: &'a Trace, step: &'a Step) -> Option<&'a SourceLocation> {
    let place = step.location.as_ref().filter(|place| !table::is_machinery_file(&place.file));
    let below = || trace.backtrace(step).filter(|frame| table::is_of_program(frame));
    place.or_else(|| below().find_map(|frame| frame.location.as_ref()))
}

fn physical(place: &SourceLocation, root: &Path) -> Value {
    let relative = Path::new(&place.file)
        .strip_prefix(root)
        .map_or(place.file.as_str(), |path| path.to_str().unwrap_or(&place.file));
    let artifact = if Path::new(relative).is_absolute() {
        json!({ "uri": format!("file://{}", escaped(relative)) })
    } else {
        json!({ "uri": escaped(relative), "uriBaseId": "ROOT" })
    };
    json!({
        "artifactLocation": artifact,
        "region": { "startLine": place.line.max(1), "startColumn": place.column.max(1) },
    })
}

/// `use-after-free`.
fn rule(kind: FailureKind) -> String {
    kind.words().replace(' ', "-")
}

/// A path as a part of a URI.
fn escaped(path: &str) -> String {
    let mut uri = String::new();
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'_' | b'-' | b'~' | b'+' => {
                uri.push(char::from(byte))
            }
            _ => uri += &format!("%{byte:02X}"),
        }
    }
    uri
}
