import { defineTexts } from "../language/texts";

export const FRAME = defineTexts({
  en: {
    skip: "Skip to content",
    main: "Main",
    download: "Download",
    signIn: "Sign in",
    signOut: "Sign out",
    account: "Your account",
    console: "Console",
    more: "More",
    support: "Help",
    terms: "Terms",
    privacy: "Privacy",
    imprint: "Imprint",
    reference: "API reference",
  },
  de: {
    skip: "Zum Inhalt springen",
    main: "Hauptnavigation",
    download: "Downloads",
    signIn: "Anmelden",
    signOut: "Abmelden",
    account: "Ihr Konto",
    console: "Konsole",
    more: "Weiteres",
    support: "Hilfe",
    terms: "Nutzungsbedingungen",
    privacy: "Datenschutz",
    imprint: "Impressum",
    reference: "API-Referenz",
  },
});
