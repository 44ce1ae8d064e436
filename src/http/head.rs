//! A response head, or a trailer section, as one buffer and spans into it.

use alloc::vec::Vec;

/// A range of a section's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct Span {
    /// The first byte.
    pub start: u32,
    /// One past the last.
    pub end: u32,
}

impl Span {
    #[inline]
    pub(crate) fn len(self) -> usize {
        self.end.saturating_sub(self.start) as usize
    }

    #[inline]
    pub(crate) fn of(self, bytes: &[u8]) -> &[u8] {
        bytes
            .get(self.start as usize..self.end as usize)
            .unwrap_or_default()
    }
}

/// Where one field line lies in its section's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct FieldSpan {
    /// The name, as sent.
    pub name: Span,
    /// The value, without the blanks around it.
    pub value: Span,
}

/// Field lines in the order received, with the bytes they point into.
#[derive(Debug, Default)]
pub struct Section {
    /// The raw bytes of the section, as they came.
    pub(crate) bytes: Vec<u8>,
    pub(crate) fields: Vec<FieldSpan>,
}

impl Section {
    /// How many field lines there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.fields.len()
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// (name, value) of every line, in the order received; names as sent, values without the
    /// blanks around them.
    #[inline]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&[u8], &[u8])> + Clone {
        self.fields.iter().map(|field| self.line(field))
    }

    /// (name, value) of one line.
    #[inline]
    pub(crate) fn line(&self, field: &FieldSpan) -> (&[u8], &[u8]) {
        (field.name.of(&self.bytes), field.value.of(&self.bytes))
    }

    /// The raw bytes of the section; of a head with its status line.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Where in [`Section::bytes`] each line lies: for callers that keep the bytes and look later.
    #[inline]
    pub fn spans(&self) -> &[FieldSpan] {
        &self.fields
    }

    /// The first value of `name`, in any case.
    pub fn get(&self, name: &[u8]) -> Option<&[u8]> {
        self.iter()
            .find(|(n, _)| n.eq_ignore_ascii_case(name))
            .map(|(_, v)| v)
    }

    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.fields.clear();
    }
}

/// A response head (RFC 9112 sections 4 and 5).
#[derive(Debug, Default)]
pub struct Head {
    /// 100 to 999.
    pub status: u16,
    /// The x of HTTP/1.x.
    pub minor: u8,
    pub(crate) reason: Span,
    /// The header lines.
    pub fields: Section,
}

impl Head {
    /// The reason phrase; often empty.
    #[inline]
    pub fn reason(&self) -> &[u8] {
        self.reason.of(&self.fields.bytes)
    }

    pub(crate) fn clear(&mut self) {
        self.status = 0;
        self.reason = Span::default();
        self.fields.clear();
    }
}
