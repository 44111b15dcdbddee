import { compareBuild } from "semver";
import { normalizeArchitecture } from "../../platforms";
import type { Release } from "../../schema";
import { selectUpdate, type UpdaterRules } from "../select-update";
import { storedFileUrls } from "../stored-files";
import { missingRelease, toDocument, type UpdateFeed, type UpdateRequest } from "../update-feed";
import { renderWinget, selectWingetInstaller, WINGET_ARCHITECTURES, WINGET_FILES } from "./winget";

const RULES: UpdaterRules = { selectArtifact: selectWingetInstaller, comparesSystemVersion: () => true };
const REQUIREMENTS = "winget needs an .exe, .msi or .msix.";

/** A winget manifest of the newest version that is rolled out to all clients, to be submitted by the operator. */
export const wingetFeed: UpdateFeed = {
  pattern: /^(?<name>winget(\.version|\.installer|\.locale\.en-US)?\.yaml)$/,
  resolve: (request, { name = "" }) => {
    const type = WINGET_FILES[name as keyof typeof WINGET_FILES];
    const [newest, ...others] = newestBuilds({ ...request, clientId: undefined, current: undefined });
    if (!newest) throw missingRelease(REQUIREMENTS);
    const urlOf = storedFileUrls(request.deps.config.baseUrl);
    const text = renderWinget(type, [newest, ...others], request.query, urlOf);
    return toDocument({ text, contentType: "application/yaml; charset=utf-8", isClientSpecific: false });
  },
};

/** The builds of the newest version, of the architecture that `arch` names or of all. */
function newestBuilds(request: UpdateRequest): Release[] {
  const { arch } = request.query;
  const architectures = arch === undefined ? [...WINGET_ARCHITECTURES.keys()] : [normalizeArchitecture(arch)];
  const builds = architectures.flatMap((architecture) => {
    const { release } = selectUpdate(request, { platform: "windows", architecture }, RULES);
    return release?.architecture === architecture ? [release] : []; // winget itself knows what runs on arm64
  });
  const [newest] = builds.toSorted((a, b) => compareBuild(b.version, a.version));
  return newest ? builds.filter(({ version }) => compareBuild(version, newest.version) === 0) : [];
}
