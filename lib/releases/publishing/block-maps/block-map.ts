import { promisify } from "node:util";
import { gunzip, gzip } from "node:zlib";
import { z } from "zod";

/** The most that a block map may have once it is decompressed: that of a file of 30 GiB. */
const MAX_JSON_BYTES = 64 * 1024 * 1024;

/**
 * The blocks of a file as electron-builder describes them (app-builder-lib, blockmap.ts). electron-updater downloads the
 * blocks whose checksums are not in the installed version's block map.
 */
export const BlockMap = z.object({
  version: z.literal("2"),
  files: z.tuple([
    z
      .object({
        name: z.literal("file"),
        offset: z.literal(0),
        /** BLAKE2b of 18 bytes, in base64. */
        checksums: z.array(z.string()),
        sizes: z.array(z.int().min(1)),
      })
      .refine(({ checksums, sizes }) => checksums.length === sizes.length, "Every checksum needs a size"),
  ]),
});
export type BlockMap = z.infer<typeof BlockMap>;

/** The name of a block map beside its file. */
export const BLOCK_MAP_EXTENSION = ".blockmap";

/** Serializes a block map to gzip. */
export function serializeBlockMap(blockMap: BlockMap): Promise<Buffer> {
  return promisify(gzip)(JSON.stringify(blockMap), { level: 9 });
}

/** Parses a .blockmap file. @throws Error if it is not gzip, truncated, too large, or not a block map */
export async function parseBlockMap(bytes: Uint8Array): Promise<BlockMap> {
  const json = await promisify(gunzip)(bytes, { maxOutputLength: MAX_JSON_BYTES });
  const parsed = BlockMap.safeParse(JSON.parse(json.toString()));
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new Error(`${issue?.path.join(".")}: ${issue?.message}`);
}
