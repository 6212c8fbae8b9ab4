//! Pictures of curves in panels.

use std::ops::Range;
use std::path::Path;

use plotters::coord::Shift;
use plotters::coord::ranged1d::{AsRangedCoord, Ranged, ValueFormatter};
use plotters::prelude::*;

/// A curve.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Series {
    /// The name in the legend.
    pub(super) name: String,
    /// The points, from left to right.
    pub(super) points: Vec<(f64, f64)>,
    /// The ends of the error bar of each point; empty without error bars.
    pub(super) errors: Vec<(f64, f64)>,
}

/// Curves in one coordinate system.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Panel {
    /// The title.
    pub(super) title: String,
    /// The name of the x axis.
    pub(super) x: String,
    /// The x axis is logarithmic.
    pub(super) logarithmic: bool,
    /// The range of the y axis.
    pub(super) range: Range<f64>,
    /// The curves.
    pub(super) curves: Vec<Series>,
}

/// The greatest number on an axis. Of far greater ones the ticks cannot be computed.
pub(super) const MAX_COORDINATE: f64 = 1e15;

impl Series {
    /// Returns a series of those `points` that have a place on axes.
    pub(super) fn new(name: &str, points: impl Iterator<Item = (f64, f64)>) -> Series {
        let has_place = |number: f64| number.abs() <= MAX_COORDINATE;
        let points = points.filter(|&(x, y)| has_place(x) && has_place(y)).collect();
        Series { name: name.to_owned(), points, errors: Vec::new() }
    }
}

/// Width and height of a panel in pixels.
const PANEL_PIXELS: (u32, u32) = (900, 366);

/// Writes panels, one below the other, to an SVG file.
///
/// # Errors
/// If it cannot be written.
pub(super) fn draw_panels(path: &Path, panels: &[Panel]) -> anyhow::Result<()> {
    let backend = SVGBackend::new(path, (PANEL_PIXELS.0, PANEL_PIXELS.1 * panels.len() as u32));
    Ok(draw(backend, panels)?)
}

/// Returns panels, one below the other, as SVG.
///
/// # Errors
/// If it cannot be drawn.
pub(super) fn svg(panels: &[Panel]) -> anyhow::Result<String> {
    let mut text = String::new();
    draw(
        SVGBackend::with_string(&mut text, (PANEL_PIXELS.0, PANEL_PIXELS.1 * panels.len() as u32)),
        panels,
    )?;
    Ok(text)
}

type Drawn<'a> = Result<(), DrawingAreaErrorKind<<SVGBackend<'a> as DrawingBackend>::ErrorType>>;

fn draw<'a>(backend: SVGBackend<'a>, panels: &[Panel]) -> Drawn<'a> {
    let area = backend.into_drawing_area();
    area.fill(&WHITE)?;
    for (area, panel) in area.split_evenly((panels.len(), 1)).iter().zip(panels) {
        let xs = || panel.curves.iter().flat_map(|curve| &curve.points).map(|(x, _)| *x);
        let first = xs().fold(f64::INFINITY, f64::min);
        let last = xs().fold(0.1, f64::max);
        if panel.logarithmic {
            let first = first.clamp(1e-9, last);
            draw_panel(area, panel, (first..last * 1.1).log_scale())?;
        } else {
            draw_panel(area, panel, 0.0..last)?;
        }
    }
    area.present()
}

fn draw_panel<'a, X>(
    area: &DrawingArea<SVGBackend<'a>, Shift>,
    panel: &Panel,
    x: impl AsRangedCoord<CoordDescType = X, Value = f64>,
) -> Drawn<'a>
where
    X: Ranged<ValueType = f64> + ValueFormatter<f64>,
{
    let mut chart = ChartBuilder::on(area)
        .caption(&panel.title, ("sans-serif", 18))
        .margin(8)
        .x_label_area_size(36)
        .y_label_area_size(48)
        .build_cartesian_2d(x, panel.range.clone())?;
    chart.configure_mesh().x_desc(&panel.x).light_line_style(WHITE).draw()?;
    for (nth, curve) in panel.curves.iter().enumerate() {
        let color = Palette99::pick(nth).to_rgba();
        chart
            .draw_series(LineSeries::new(curve.points.iter().copied(), color.stroke_width(2)))?
            .label(&curve.name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], color.stroke_width(2)));
        chart.draw_series(curve.points.iter().zip(&curve.errors).map(
            |(&(x, y), &(low, high))| ErrorBar::new_vertical(x, low, y, high, color.filled(), 6),
        ))?;
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::LowerRight)
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK.mix(0.3))
        .draw()?;
    Ok(())
}
