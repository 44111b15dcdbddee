import { releaseFields, tauri } from "../../formats/tauri";
import { normalizeArchitecture, parsePlatform } from "../../platforms";
import { recordCheck } from "../record-check";
import { selectUpdate } from "../select-update";
import { storedFileUrls } from "../stored-files";
import { installedVersionOf, missingRelease, noUpdate, toDocument, type UpdateFeed } from "../update-feed";
import { tauriSelector } from "./bundle-type";

/** Tauri's dynamic server (Tauri 2, "Updater", "Dynamic Update Server"): `{{target}}/{{arch}}/{{current_version}}`. */
export const tauriDynamicFeed: UpdateFeed = {
  pattern: /^(?<target>windows|darwin|linux)\/(?<arch>[^/]+)\/(?<version>[^/]+)$/,
  resolve: (request, { target = "", arch = "", version = "" }) => {
    const platform = parsePlatform(target);
    if (!platform) return null;
    const { version: current, numbers } = installedVersionOf(version);
    const selectArtifact = tauriSelector(request.query.bundleType);
    const rules = { selectArtifact, comparesSystemVersion: () => false };
    const selector = { platform, architecture: normalizeArchitecture(arch) };
    const { release, isUpdate, isClientSpecific } = selectUpdate({ ...request, current, numbers }, selector, rules);
    const file = release && selectArtifact(release);
    if (!file) throw missingRelease(tauri.requirements);
    recordCheck({ ...request, current }, selector, release);
    if (!isUpdate) return noUpdate(tauri.contentType);
    const url = storedFileUrls(request.deps.config.baseUrl)(release, file);
    const text = JSON.stringify({ ...releaseFields(release), url, signature: file.minisign });
    return toDocument({ text, contentType: tauri.contentType, isClientSpecific });
  },
};
