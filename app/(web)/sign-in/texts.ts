import { defineTexts } from "../language/texts";

export const SIGN_IN = defineTexts({
  en: {
    title: "Sign in",
    or: "or",
    withProvider: (name: string) => `Sign in with ${name}`,
    forgot: "Forgot your password?",
    newHere: "New here?",
    toContinue: (app: string) => `To continue to ${app}, sign in.`,
  },
  de: {
    title: "Anmelden",
    or: "oder",
    withProvider: (name) => `Mit ${name} anmelden`,
    forgot: "Passwort vergessen?",
    newHere: "Neu hier?",
    toContinue: (app) => `Melden Sie sich an, um mit ${app} fortzufahren.`,
  },
});

export const FACTOR = defineTexts({
  en: {
    title: "Second factor",
    byCode: "Enter the code",
    byRecoveryCode: "Enter a recovery code",
    useApp: "Use the authenticator app",
    again: "Sign in again",
  },
  de: {
    title: "Zweiter Faktor",
    byCode: "Code eingeben",
    byRecoveryCode: "Wiederherstellungscode eingeben",
    useApp: "Authenticator-App verwenden",
    again: "Noch einmal anmelden",
  },
});
