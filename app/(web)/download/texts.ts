import type { FileType } from "@/lib/releases/selection/file-types";
import { defineTexts } from "../language/texts";

type Formats = Record<FileType, string>;

const ENGLISH_FORMATS: Formats = {
  appimage: "any distribution",
  deb: "Debian and Ubuntu",
  rpm: "Fedora and openSUSE",
  pacman: "Arch Linux",
  tar: "archive",
  exe: "installer",
  msi: "Windows Installer",
  msix: "App Installer",
  dmg: "disk image",
  pkg: "installer package",
  zip: "archive",
};
const GERMAN_FORMATS: Formats = {
  appimage: "jede Distribution",
  deb: "Debian und Ubuntu",
  rpm: "Fedora und openSUSE",
  pacman: "Arch Linux",
  tar: "Archiv",
  exe: "Installationsprogramm",
  msi: "Windows Installer",
  msix: "App-Installer",
  dmg: "Disk-Image",
  pkg: "Installationspaket",
  zip: "Archiv",
};

export const DOWNLOAD = defineTexts({
  en: {
    title: "Download",
    unavailable: "The release catalog is not available. Try again in a minute.",
    sample: "These are sample files that install nothing. They are replaced by the first release you publish.",
    none: "No releases have been published yet.",
    phone: "These apps run on computers. Open this page on your computer to install them.",
    forPlatform: (platform: string) => `For ${platform}`,
    otherPlatforms: "Other platforms",
    all: "All installers",
    productFor: (product: string, platform: string, architecture: string) =>
      `${product} for ${platform}, ${architecture}`,
    noStable: "There is no stable release yet.",
    otherVersions: "Other versions",
    otherFormats: "Other formats",
    downloadFor: (name: string, platform: string) => `Download ${name} for ${platform}`,
    requires: (system: string) => `requires ${system} or newer`,
    builtBy: (repository: string, commit: string) => `Built by ${repository} from commit ${commit}`,
    notes: "Release notes",
    fullNotes: "Full release notes",
    formats: ENGLISH_FORMATS,
  },
  de: {
    title: "Herunterladen",
    unavailable: "Der Katalog der Versionen ist nicht verfügbar. Versuchen Sie es in einer Minute erneut.",
    sample:
      "Das sind Beispieldateien, die nichts installieren. Die erste Version, die Sie veröffentlichen, ersetzt sie.",
    none: "Es wurde noch keine Version veröffentlicht.",
    phone: "Diese Apps laufen auf Computern. Öffnen Sie diese Seite auf Ihrem Computer, um sie zu installieren.",
    forPlatform: (platform) => `Für ${platform}`,
    otherPlatforms: "Andere Plattformen",
    all: "Alle Installationsprogramme",
    productFor: (product, platform, architecture) => `${product} für ${platform}, ${architecture}`,
    noStable: "Es gibt noch keine stabile Version.",
    otherVersions: "Andere Versionen",
    otherFormats: "Andere Formate",
    downloadFor: (name, platform) => `${name} für ${platform} herunterladen`,
    requires: (system) => `ab ${system}`,
    builtBy: (repository, commit) => `Gebaut von ${repository} aus dem Commit ${commit}`,
    notes: "Versionshinweise",
    fullNotes: "Alle Versionshinweise",
    formats: GERMAN_FORMATS,
  },
});

export type DownloadTexts = (typeof DOWNLOAD)["en"];
