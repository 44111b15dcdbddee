import { AppError } from "../../../errors";
import { fieldMessage } from "../../../platform/field-message";
import { PublicKeys } from "../../signatures";
import type { EditableManifest } from "../manifest/manifest-file";
import type { Confirmations } from "./publish-checks";

/** Public keys in any format that `PublicKeys` accepts. */
export type PublicKeyInput = { minisign?: string | undefined; ed?: string | undefined };

const NAMES = { minisign: "minisign", ed: "EdDSA" } as const;

/** A product's keys. Safe for products with names such as `constructor`. */
export function publicKeysOf(publicKeys: EditableManifest["publicKeys"], product: string): PublicKeys {
  return (Object.hasOwn(publicKeys, product) && publicKeys[product]) || {};
}

/**
 * Adds a product's keys to the catalog's.
 * @throws AppError if a key is not valid; confirmation_required if it would replace another key
 */
export function mergePublicKeys(
  { publicKeys }: Pick<EditableManifest, "publicKeys">,
  product: string,
  input: PublicKeyInput,
  { isNew }: Confirmations,
): EditableManifest["publicKeys"] {
  const parsed = PublicKeys.safeParse(input, { error: fieldMessage });
  if (!parsed.success)
    throw new AppError("release_invalid", parsed.error.issues.map(({ message }) => message).join("; "));
  const next = { ...publicKeysOf(publicKeys, product) };
  for (const kind of ["minisign", "ed"] as const) {
    const [key, before] = [parsed.data[kind], next[kind]];
    if (key === undefined || key === before) continue;
    if (before !== undefined && !isNew) {
      throw new AppError(
        "confirmation_required",
        `${product}'s ${NAMES[kind]} key is ${before}: installed apps would reject signatures of another key. Confirm a new key with --new.`,
      );
    }
    next[kind] = key;
  }
  return Object.keys(next).length === 0 ? publicKeys : { ...publicKeys, [product]: next };
}
