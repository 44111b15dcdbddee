/** A DER element: its identifier octet and its content. */
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
/** A longer element does not fit into a request. */
const MAX_LENGTH_OCTETS = 3;

/**
 * Returns the consecutive elements in `bytes`, without reading their contents. Accepts tags of one octet and definite
 * lengths in the shortest form (ITU-T X.690, section 10.1).
 * @throws RangeError for anything else
 */
export function derElements(bytes: Uint8Array): DerElement[] {
  const elements: DerElement[] = [];
  for (let at = 0; at < bytes.length; ) {
    const tag = octet(bytes, at);
    if ((tag & LONG_TAG) === LONG_TAG) throw new RangeError("multi-octet tag");
    const { length, start } = readLength(bytes, at + 1);
    if (start + length > bytes.length) throw new RangeError("element exceeds its container");
    elements.push({ tag, content: bytes.subarray(start, start + length) });
    at = start + length;
  }
  return elements;
}

/** Returns the content of the single element in `bytes`. @throws RangeError for another tag or number of elements */
export function derContent(bytes: Uint8Array, tag: number): Uint8Array {
  const [element, ...more] = derElements(bytes);
  if (element?.tag !== tag || more.length > 0) throw new RangeError(`expected one element with tag ${tag}`);
  return element.content;
}

function readLength(bytes: Uint8Array, at: number): { length: number; start: number } {
  const first = octet(bytes, at);
  if (first < LONG_LENGTH) return { length: first, start: at + 1 };
  const octets = first - LONG_LENGTH;
  if (octets === 0 || octets > MAX_LENGTH_OCTETS) throw new RangeError("unsupported length");
  let length = 0;
  for (let i = 1; i <= octets; i++) length = length * 256 + octet(bytes, at + i);
  const shortest = octets === 1 ? LONG_LENGTH : 256 ** (octets - 1);
  if (length < shortest) throw new RangeError("length not in the shortest form");
  return { length, start: at + 1 + octets };
}

function octet(bytes: Uint8Array, at: number): number {
  const value = bytes[at];
  if (value === undefined) throw new RangeError("unexpected end");
  return value;
}
