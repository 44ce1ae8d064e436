//! Our own look at the lines of a head, where llhttp is too kind or leaves work to its caller.

use super::fault::{Fault, Misbehaviour};
use super::head::{FieldSpan, Head, Span};
use super::syntax::is_value;

/// One CR and one LF behind the reason: llhttp lets CR CR LF pass. Without a reason, that is behind
/// `HTTP/1.1 200`, perhaps with a blank.
pub(super) fn is_status_line(head: &Head) -> bool {
    const BARE: usize = "HTTP/1.1 200".len();
    let bytes = &head.fields.bytes;
    let end = if head.reason.end > head.reason.start {
        head.reason.end as usize
    } else {
        BARE
    };
    let rest = bytes.get(end..).unwrap_or_default();
    let ended = rest.starts_with(b"\r\n") || rest.starts_with(b" \r\n");
    // RFC 9112 section 4: a reason has no control characters either.
    ended && is_value(head.reason())
}

/// Trims the value and refuses a folded line, whose value would otherwise depend on the reader.
#[inline]
pub(super) fn finish_field(bytes: &[u8], field: &mut FieldSpan) -> Result<(), Fault> {
    let FieldSpan { name, value } = *field;
    // Nearly every line is `name: value CRLF` and another line: nothing to do.
    let (first, last) = (value.start as usize, value.end as usize);
    let plain = value.start == name.end + 2
        && value.end > value.start
        && bytes.get(first).is_some_and(|&b| b > b' ')
        && matches!(
            bytes.get(last - 1..),
            Some([b'!'..=0xff, b'\r', b'\n', b'!'..=0xff | b'\r', ..])
        );
    if plain {
        Ok(())
    } else {
        finish_odd_field(bytes, field)
    }
}

#[cold]
fn finish_odd_field(bytes: &[u8], field: &mut FieldSpan) -> Result<(), Fault> {
    if field.value.start >= field.value.end || field.value.start <= field.name.end {
        // Where llhttp says that an empty value lies is of no use: it lies behind the colon.
        let colon = field.name.end + 1;
        field.value = Span {
            start: colon,
            end: colon,
        };
    }
    let gap = Span {
        start: field.name.end,
        end: field.value.start,
    }
    .of(bytes);
    if gap.contains(&b'\n') {
        return Err(Misbehaviour::HeaderValue.into());
    }
    // Behind the value: blanks, then the line end, then no blank (which would be a fold).
    let blank = |b: &&u8| matches!(**b, b' ' | b'\t');
    let rest = &bytes[(field.value.end as usize).min(bytes.len())..];
    let blanks = rest.iter().take_while(blank).count();
    if let [b'\r', b'\n', b' ' | b'\t', ..] = rest[blanks..] {
        return Err(Misbehaviour::HeaderValue.into());
    }
    let trailing = field.value.of(bytes).iter().rev().take_while(blank).count() as u32;
    field.value.end -= trailing;
    let leading = field.value.of(bytes).iter().take_while(blank).count() as u32;
    field.value.start += leading;
    Ok(())
}
