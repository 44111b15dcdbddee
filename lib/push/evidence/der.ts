/** One element of DER: its identifier octet and its content. */
export type DerElement = { tag: number; content: Uint8Array };

export const DER = {
  octetString: 0x04,
  objectIdentifier: 0x06,
  sequence: 0x30,
  /** A constructed, context-specific tag. */
  context: (number: number) => 0xa0 + number,
} as const;

const LONG_TAG = 0x1f;
const LONG_LENGTH = 0x80;
/** Lengths of more than so many octets belong to nothing that fits into a request. */
const MAX_LENGTH_OCTETS = 3;

/**
 * The elements that lie side by side in `bytes`; what is in them is read by another call. Tags of one octet;
 * definite, shortest lengths (ITU-T X.690, section 10.1).
 * @throws RangeError for bytes that are anything else.
 */
export function derElements(bytes: Uint8Array): DerElement[] {
  const elements: DerElement[] = [];
  for (let at = 0; at < bytes.length; ) {
    const tag = octet(bytes, at);
    if ((tag & LONG_TAG) === LONG_TAG) throw new RangeError("a tag of several octets");
    const { length, start } = readLength(bytes, at + 1);
    if (start + length > bytes.length) throw new RangeError("an element that ends too late");
    elements.push({ tag, content: bytes.subarray(start, start + length) });
    at = start + length;
  }
  return elements;
}

/** The content of the one element that `bytes` are. @throws RangeError for another tag, or more or less than one. */
export function derContent(bytes: Uint8Array, tag: number): Uint8Array {
  const [element, ...more] = derElements(bytes);
  if (element?.tag !== tag || more.length > 0) throw new RangeError(`not one element of tag ${tag}`);
  return element.content;
}

function readLength(bytes: Uint8Array, at: number): { length: number; start: number } {
  const first = octet(bytes, at);
  if (first < LONG_LENGTH) return { length: first, start: at + 1 };
  const octets = first - LONG_LENGTH;
  if (octets === 0 || octets > MAX_LENGTH_OCTETS) throw new RangeError("a length without an end");
  let length = 0;
  for (let i = 1; i <= octets; i++) length = length * 256 + octet(bytes, at + i);
  const shortest = octets === 1 ? LONG_LENGTH : 256 ** (octets - 1);
  if (length < shortest) throw new RangeError("a length that could be shorter");
  return { length, start: at + 1 + octets };
}

function octet(bytes: Uint8Array, at: number): number {
  const value = bytes[at];
  if (value === undefined) throw new RangeError("cut off");
  return value;
}
