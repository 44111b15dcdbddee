import { normalizeArchitecture } from "../../schema";

const WORDS = /(?:^|[-_. ])(x86_64|amd64|x64|aarch64|arm64|universal|i386|i686|ia32|x86|armv7l|armhf)(?=[-_. ]|$)/gi;

/**
 * The architecture that a file's name says: the last one, since the app's name comes first. Leaves out `appName`, which
 * may contain the word. Undefined if the name says none.
 */
export function architectureIn(fileName: string, appName = ""): string | undefined {
  const rest = appName && fileName.startsWith(appName) ? fileName.slice(appName.length) : fileName;
  const last = [...rest.matchAll(WORDS)].at(-1)?.[1];
  return last && normalizeArchitecture(last);
}
