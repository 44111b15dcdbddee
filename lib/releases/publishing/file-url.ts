import { z } from "zod";
import type { Context } from "../../context";
import { storedFileUrls } from "../updates/stored-files";
import { parseRelease } from "./manifest-file";

export const FileUrlQuery = z.object({
  product: z.string().meta({ examples: ["core"] }),
  platform: z.string().meta({ examples: ["macos"] }),
  architecture: z.string().meta({ examples: ["universal"] }),
  channel: z.string().optional().describe("Default: `stable`."),
  version: z.string().meta({ examples: ["2.3.0"] }),
  fileName: z.string().optional().describe("Default: none, for the URL of the folder of all files of the release."),
});
type FileUrlQuery = z.infer<typeof FileUrlQuery>;

export const FileUrl = z.object({ url: z.url() });

/** The permanent URL of a file of a release that may not be published yet. @throws AppError release_invalid */
export function getFileUrl(
  { config, now }: Pick<Context, "config" | "now">,
  { fileName = "", ...fields }: FileUrlQuery,
): z.infer<typeof FileUrl> {
  const release = parseRelease({ id: "new", releasedAt: now().toISOString(), ...fields, artifacts: {} });
  return { url: storedFileUrls(config.baseUrl)(release, { fileName }) };
}
