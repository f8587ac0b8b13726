//! Plots as SVG: a few curves, axes with ticks, a legend. It knows nothing of searches.

use super::coverage::Curve;

/// How a plot is drawn.
#[derive(Clone, Debug, Default)]
pub struct Plot {
    /// Stands above it.
    pub title: String,
    /// What is to the right.
    pub x: String,
    /// What is upwards.
    pub y: String,
    /// Powers of ten upwards at equal distances.
    pub log_y: bool,
    /// Powers of ten to the right at equal distances.
    pub log_x: bool,
}

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 440.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 150.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 50.0;
const COLOURS: [&str; 8] =
    ["#0b6e4f", "#c1292e", "#235789", "#f18f01", "#6a4c93", "#5c5c5c", "#00a6a6", "#a0522d"];
const DASHES: [&str; 4] = ["", "6 3", "2 3", "8 3 2 3"];

/// One axis: from what to what, and whether by powers of ten.
struct Axis {
    low: f64,
    high: f64,
    log: bool,
}

impl Axis {
    fn new(values: impl Iterator<Item = f64>, log: bool) -> Axis {
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values.filter(|value| !log || *value > 0.0) {
            (low, high) = (low.min(value), high.max(value));
        }
        if !low.is_finite() {
            (low, high) = (1.0, 10.0);
        }
        if log {
            let (low, high) = (low.log10().floor(), high.log10().ceil());
            Axis { low, high: high.max(low + 1.0), log }
        } else {
            Axis { low: low.min(0.0), high: high.max(low + 1.0), log }
        }
    }

    /// Between 0 and 1.
    fn place(&self, value: f64) -> f64 {
        let value = if self.log { value.max(1e-9).log10() } else { value };
        ((value - self.low) / (self.high - self.low)).clamp(0.0, 1.0)
    }

    fn ticks(&self) -> Vec<f64> {
        if self.log {
            return (self.low as i32..=self.high as i32).map(|power| 10f64.powi(power)).collect();
        }
        let rough = (self.high - self.low) / 6.0;
        let power = 10f64.powf(rough.log10().floor());
        let step =
            [1.0, 2.0, 5.0, 10.0].into_iter().map(|n| n * power).find(|&s| s >= rough).unwrap_or(rough);
        let count = ((self.high - self.low) / step).floor() as i32;
        (0..=count).map(|n| self.low + f64::from(n) * step).collect()
    }
}

impl Plot {
    /// The plot as one SVG document.
    #[must_use]
    pub fn to_svg(&self, curves: &[Curve]) -> String {
        let points = || curves.iter().flat_map(|curve| &curve.points);
        let x = Axis::new(points().map(|point| point.0), self.log_x);
        let y = Axis::new(points().map(|point| point.1), self.log_y);
        let across = |value: f64| LEFT + x.place(value) * (WIDTH - LEFT - RIGHT);
        let up = |value: f64| HEIGHT - BOTTOM - y.place(value) * (HEIGHT - TOP - BOTTOM);
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" font-size=\"12\">\n\
             <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"white\"/>\n\
             <text x=\"{LEFT}\" y=\"22\" font-size=\"15\">{}</text>\n",
            escape(&self.title)
        );
        for tick in x.ticks() {
            let (at, low) = (across(tick), HEIGHT - BOTTOM);
            svg +=
                &format!("<line x1=\"{at:.1}\" y1=\"{TOP}\" x2=\"{at:.1}\" y2=\"{low}\" stroke=\"#ddd\"/>");
            svg += &label(at, low + 16.0, "middle", &number(tick));
        }
        for tick in y.ticks() {
            let (at, right) = (up(tick), WIDTH - RIGHT);
            svg += &format!(
                "<line x1=\"{LEFT}\" y1=\"{at:.1}\" x2=\"{right}\" y2=\"{at:.1}\" stroke=\"#ddd\"/>"
            );
            svg += &label(LEFT - 6.0, at + 4.0, "end", &number(tick));
        }
        svg += &label((LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 12.0, "middle", &self.x);
        svg += &format!(
            "<text transform=\"translate(16 {:.1}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n",
            HEIGHT / 2.0,
            escape(&self.y)
        );
        for (index, curve) in curves.iter().enumerate() {
            let colour = COLOURS[index % COLOURS.len()];
            let dash = DASHES[index / COLOURS.len() % DASHES.len()];
            let line: Vec<String> = curve
                .points
                .iter()
                .map(|point| format!("{:.1},{:.1}", across(point.0), up(point.1)))
                .collect();
            let style =
                format!("stroke=\"{colour}\" stroke-width=\"2\" stroke-dasharray=\"{dash}\" fill=\"none\"");
            svg += &format!("<polyline points=\"{}\" {style}/>\n", line.join(" "));
            let at = TOP + 16.0 * index as f64 + 8.0;
            let left = WIDTH - RIGHT + 10.0;
            svg += &format!("<line x1=\"{left}\" y1=\"{at}\" x2=\"{}\" y2=\"{at}\" {style}/>", left + 22.0);
            svg += &label(left + 28.0, at + 4.0, "start", &curve.name);
        }
        svg + "</svg>\n"
    }
}

fn label(x: f64, y: f64, anchor: &str, text: &str) -> String {
    format!("<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{}</text>\n", escape(text))
}

fn number(value: f64) -> String {
    if value >= 1e6 { format!("{value:.0e}") } else { format!("{value}") }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plot_has_its_curves_ticks_and_names() {
        let curve = |name: &str, points: &[(f64, f64)]| Curve { name: name.into(), points: points.to_vec() };
        let curves =
            [curve("a<b", &[(1.0, 1.0), (100.0, 50.0)]), curve("c", &[(1.0, 2.0)]), curve("none", &[])];
        let plot = Plot { title: "T & U".into(), x: "x".into(), y: "y".into(), log_y: true, log_x: false };
        let svg = plot.to_svg(&curves);
        assert_eq!(svg.matches("<polyline").count(), 3);
        assert!(svg.contains("a&lt;b") && svg.contains("T &amp; U") && svg.contains(">100<"), "{svg}");
        assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n") && !svg.contains("NaN"));
    }
}
