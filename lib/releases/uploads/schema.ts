import { z } from "zod";

export const UploadParams = z.object({ uploadId: z.string() });

/** A file that is being uploaded. */
export const Upload = z.object({
  id: z.uuid(),
  fileName: z.string().nullable().describe("`filename` of `Upload-Metadata`."),
  sizeBytes: z.int(),
  offsetBytes: z.int().describe("How much has arrived."),
  expiresAt: z.date().describe("When it is deleted, unless more arrives."),
});
