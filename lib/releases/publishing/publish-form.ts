import { z } from "zod";
import { AppError } from "../../errors";
import { NewReleases } from "./schema";

const text = z.string().trim();
const flag = z.literal("on").optional();

/** The form's names for the kinds of a file. */
export const FILE_KINDS = {
  both: "Installer and update",
  installer: "Installer",
  update: "Update",
  other: "Another format",
} as const;

/** Publishes uploads, with the fields `use.ID`, `platform.ID`, `architecture.ID` and `kinds.ID` of each. */
export const PublishForm = z
  .object({
    product: text.toLowerCase().min(1, "Must not be empty"),
    version: text.min(1, "Must not be empty"),
    channel: text.toLowerCase().min(1, "Must not be empty"),
    rollout: text.regex(/^\d{1,3}(\.\d)?$/, "Must be from 0 to 100, with at most one decimal"),
    notes: z.string().default(""),
    isNew: flag,
    isPrerelease: flag,
  })
  .catchall(z.string());
export type PublishForm = z.infer<typeof PublishForm>;

/** @throws AppError validation_failed if no upload is chosen, or a field of one is not valid */
export function toNewReleases(form: PublishForm): NewReleases {
  const { product, version, channel, notes, isNew, isPrerelease } = form;
  const ids = Object.keys(form).flatMap((name) => /^use\.([0-9a-f-]{36})$/.exec(name)?.[1] ?? []);
  const targets = new Map<string, { platform: string; architecture: string; files: object[] }>();
  for (const id of ids) {
    const [platform = "", architecture = "", kinds = ""] = ["platform", "architecture", "kinds"].map((name) =>
      String(form[`${name}.${id}`] ?? ""),
    );
    const target = targets.get(`${platform} ${architecture}`) ?? { platform, architecture, files: [] };
    target.files.push({ uploadId: id, kinds: kinds === "both" ? ["installer", "update"] : [kinds] });
    targets.set(`${platform} ${architecture}`, target);
  }
  const releases = [...targets.values()].map(({ files, ...target }) => ({
    release: { product, version, channel, notes, rollout: Number(form.rollout), ...target },
    files,
    confirmations: { isNew: isNew === "on", isPrerelease: isPrerelease === "on" },
  }));
  const parsed = NewReleases.safeParse({ releases });
  if (parsed.success) return parsed.data;
  const detail = ids.length === 0 ? "Choose at least one file" : "Choose what each file is";
  throw new AppError("validation_failed", { errors: [{ pointer: "/files", code: "invalid_value", detail }] });
}
