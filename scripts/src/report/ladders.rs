//! Ladders beside one another, as a picture.

use std::path::Path;

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::ladder::{Results, Standings};

/// A ladder's place in the picture, in pixels.
const WIDTH: u32 = 230;
/// The picture's height in pixels.
const HEIGHT: u32 = 620;
/// What is drawn beyond the highest and the lowest point, in Elo.
const MARGIN: f64 = 120.0;

/// Draws ladders: each rung as a line at its rating, each player as a point with the interval that
/// is 95% sure.
///
/// # Errors
/// If the picture cannot be written.
pub fn draw(ladders: &[Results], picture: &Path) -> anyhow::Result<Vec<Standings>> {
    let standings: Vec<_> = ladders.iter().map(Standings::of).collect();
    let area = SVGBackend::new(picture, (WIDTH * ladders.len() as u32, HEIGHT)).into_drawing_area();
    area.fill(&WHITE)?;
    for (area, standings) in area.split_evenly((1, ladders.len())).iter().zip(&standings) {
        one(area, standings)?;
    }
    area.present()?;
    Ok(standings)
}

fn one(area: &DrawingArea<SVGBackend<'_>, Shift>, standings: &Standings) -> anyhow::Result<()> {
    let rungs = standings.rungs.iter().filter_map(|(name, rating)| Some((name, rating.as_ref()?)));
    let climbers =
        standings.climbers.iter().filter_map(|climber| Some((&climber.name, climber.rating?)));
    let climbers: Vec<_> = climbers.collect();
    let ends = climbers.iter().flat_map(|(_, rating)| {
        let margin = rating.margin();
        [rating.elo - margin, rating.elo + margin]
    });
    let ends: Vec<f64> = ends.chain(rungs.clone().map(|(_, rating)| rating.elo)).collect();
    let low = ends.iter().copied().fold(0.0, f64::min) - MARGIN;
    let high = ends.iter().copied().fold(0.0, f64::max) + MARGIN;
    let mut chart = ChartBuilder::on(area)
        .caption(&standings.variant, ("sans-serif", 18))
        .margin(8)
        .x_label_area_size(8)
        .y_label_area_size(48)
        .build_cartesian_2d(0.0..1.0, low..high)?;
    let whole = |elo: &f64| format!("{elo:+.0}");
    chart.configure_mesh().disable_mesh().disable_x_axis().y_label_formatter(&whole).draw()?;
    let below = Pos::new(HPos::Left, VPos::Bottom);
    let text = |color: &RGBColor| ("sans-serif", 12).into_font().color(color).pos(below);
    for (name, rating) in rungs {
        let line = [(0.0, rating.elo), (1.0, rating.elo)];
        chart.draw_series([PathElement::new(line, BLACK.mix(0.4))])?;
        chart.draw_series([Text::new(name.clone(), (0.02, rating.elo), text(&BLACK))])?;
    }
    for (nth, (name, rating)) in climbers.iter().enumerate() {
        let at = 0.6 + 0.35 * nth as f64 / climbers.len().max(2) as f64;
        let color = Palette99::pick(nth).to_rgba();
        let (low, high) = (rating.elo - rating.margin(), rating.elo + rating.margin());
        let whisker = ErrorBar::new_vertical(at, low, rating.elo, high, color.filled(), 8);
        chart.draw_series([whisker])?;
        chart.draw_series([Circle::new((at, rating.elo), 5, color.filled())])?;
        chart.draw_series([Text::new((*name).clone(), (at + 0.04, rating.elo), text(&BLUE))])?;
    }
    Ok(())
}
