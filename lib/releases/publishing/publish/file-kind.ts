import { z } from "zod";
import { ArtifactKind } from "../../schema";

/**
 * What a published file is for: people download the `installer`, updaters the `update`; `other` is a further format
 * beside them, `delta` a file that turns one older version into the release.
 */
export const FileKind = z.enum([...ArtifactKind.options, "other", "delta"]);
export type FileKind = z.infer<typeof FileKind>;
