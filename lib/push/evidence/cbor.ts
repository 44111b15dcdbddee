import { type DecodeOptions, decode, Tokenizer } from "cborg";
import type { z } from "zod";
import { evidenceInvalid } from "./errors";

/** An attestation has 13 data items, an assertion 5. */
const MAX_ITEMS = 32;

const STRICT: DecodeOptions = {
  strict: true,
  allowIndefinite: false,
  allowUndefined: false,
  allowInfinity: false,
  allowNaN: false,
  allowBigInt: false,
  rejectDuplicateMapKeys: true,
};

/** Gives up on input of many items: deep nesting would cost the stack, wide nesting time. */
class BoundedTokenizer extends Tokenizer {
  #items = 0;

  override next() {
    this.#items += 1;
    if (this.#items > MAX_ITEMS) throw new RangeError("too many items");
    return super.next();
  }
}

/**
 * Decodes one CBOR item (RFC 8949) and holds it against a schema. Members that the schema does not know are let by.
 * @throws AppError evidence_invalid: malformed
 */
export function decodeCbor<T>(schema: z.ZodType<T>, bytes: Uint8Array): T {
  try {
    return schema.parse(decode(bytes, { ...STRICT, tokenizer: new BoundedTokenizer(bytes, STRICT) }));
  } catch {
    throw evidenceInvalid("malformed");
  }
}
