//! 3x3 chess solved, against the counts of the literature and the golden table.

use std::collections::HashMap;

use menagerie::variant::Catalogue;
use trainer::retrograde::{Solution, Value};

#[test]
fn three_by_three_is_solved_as_the_reference_has_it() {
    let variant = Catalogue::shipped().get("3x3").expect("3x3 is shipped");
    let solution = Solution::of(&variant).expect("3x3 can be solved");
    let count = |wanted: fn(Value) -> bool| solution.iter().filter(|(_, v)| wanted(*v)).count();
    assert_eq!(solution.len(), 32_152);
    assert_eq!(count(|value| value.score() == 1), 11_720);
    assert_eq!(count(|value| value.score() == 0), 7_640);
    assert_eq!(count(|value| value.score() == -1), 12_792);
    assert_eq!(count(|value| value == Value::Loss(0)), 6_768);
    let stalemates = solution
        .iter()
        .filter(|(position, value)| *value == Value::Draw && position.outcome().is_some());
    assert_eq!(stalemates.count(), 424);

    let table = include_str!("../../tests/golden/mini3x3_solved.tsv").lines().skip(1);
    let values: HashMap<_, _> = solution
        .iter()
        .map(|(position, value)| (position.fen().replace(" - - 0 1", ""), value))
        .collect();
    let mut rows = 0;
    for row in table {
        let columns: Vec<&str> = row.split('\t').collect();
        let plies: i64 = columns[2].parse().expect("a distance");
        let expected = match columns[1] {
            "1" => Value::Win(plies as u32),
            "0" => Value::Draw,
            _ => Value::Loss(plies as u32),
        };
        assert_eq!(values.get(columns[0]), Some(&expected), "{row}");
        rows += 1;
    }
    assert_eq!(rows, 16_076);
}
