//! Numbers as text: short to read, and read back only where they are finite.

/// The f64 that is written as this f32 is: 0.1 rather than 0.100000001.
pub(super) fn exact(value: f32) -> f64 {
    format!("{value}").parse().unwrap_or(f64::from(value))
}

/// A number with at most five digits that count, three in a narrow field; powers of ten where it is very small
/// or large.
pub(super) fn format(value: f64, whole: bool, narrow: bool) -> String {
    if value.is_nan() {
        return "no number".into();
    }
    if value.is_infinite() {
        return if value > 0.0 { "∞".into() } else { "−∞".into() };
    }
    if whole {
        return format!("{value:.0}");
    }
    let size = value.abs();
    if size == 0.0 {
        return "0".into();
    }
    let digits: i32 = if narrow { 4 } else { 5 };
    let text = if (1e-3..1e6).contains(&size) {
        let decimals = (digits - 1 - size.log10().floor() as i32).clamp(0, 8) as usize;
        trimmed(&format!("{value:.decimals$}")).to_owned()
    } else {
        let text = format!("{value:.*e}", digits as usize - 2);
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        format!("{}e{exponent}", trimmed(mantissa))
    };
    text.replace('-', "−")
}

/// Without zeros at the end that say nothing.
fn trimmed(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

/// The number that a text begins with, if it is finite; a unit may follow.
pub(super) fn parse(text: &str) -> Option<f64> {
    let text = text.trim().replace('−', "-").replace(',', ".");
    let is_part = |c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.' | 'e' | 'E');
    let end = text.find(|c| !is_part(c)).unwrap_or(text.len());
    let number = text[..end].trim_end_matches(['e', 'E']);
    number.parse::<f64>().ok().filter(|number| number.is_finite())
}

/// A count with its thousands apart.
pub(super) fn grouped(count: usize) -> String {
    let digits = count.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push('\u{2009}');
        }
        text.push(digit);
    }
    text
}

/// The name of a type as people say it: `ShapeMatchingConstraint` is `Shape matching`.
pub(super) fn title(name: &str) -> String {
    let short = name.strip_suffix("Constraint").filter(|short| !short.is_empty()).unwrap_or(name);
    let mut words = String::with_capacity(short.len() + 2);
    for (i, letter) in short.chars().enumerate() {
        if i > 0 && letter.is_uppercase() {
            words.push(' ');
            words.extend(letter.to_lowercase());
        } else {
            words.push(letter);
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_finite_numbers_are_read_and_units_may_follow() {
        for (text, number) in [
            ("12", 12.0),
            (" −9,81 m/s²", -9.81),
            ("1e-4 m/N", 1e-4),
            ("2.5e−3", 2.5e-3),
            ("0.2kg", 0.2),
            ("3 e", 3.0),
        ] {
            assert_eq!(parse(text), Some(number), "{text}");
        }
        for text in ["", "NaN", "nan", "inf", "-inf", "infinity", "1e999", "m", "--1", "∞"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn numbers_are_short_and_read_as_they_are_shown() {
        for value in [0.0, 0.1, -9.81, 1.0 / 3.0, 123_456.0, 1.5e-6, -2e-9, 3e12, 0.02, 1e6] {
            for narrow in [false, true] {
                let text = format(value, false, narrow);
                let read = parse(&text).expect("a number");
                assert!((read - value).abs() <= 1e-3 * value.abs(), "{value}: {text}");
                assert_eq!(format(read, false, narrow), text);
            }
        }
        for (value, text) in
            [(9.81, "9.81"), (1234.5678, "1234.6"), (1e-5, "1e−5"), (f64::INFINITY, "∞")]
        {
            assert_eq!(format(value, false, false), text);
        }
    }

    #[test]
    fn an_f32_is_shown_as_it_was_written() {
        assert_eq!(exact(0.1), 0.1);
        assert_eq!(exact(1e-5), 1e-5);
        assert!(exact(f32::NAN).is_nan());
        assert_eq!(exact(f32::INFINITY), f64::INFINITY);
    }

    #[test]
    fn thousands_stand_apart() {
        assert_eq!(grouped(7), "7");
        assert_eq!(grouped(1234), "1\u{2009}234");
        assert_eq!(grouped(1_234_567), "1\u{2009}234\u{2009}567");
    }

    #[test]
    fn types_have_names_that_people_say() {
        assert_eq!(title("DistanceConstraint"), "Distance");
        assert_eq!(title("ShapeMatchingConstraint"), "Shape matching");
        assert_eq!(title("Attachment"), "Attachment");
        assert_eq!(title("Constraint"), "Constraint");
    }
}
