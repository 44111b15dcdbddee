import { type AuditEventType, EVENT_LABELS } from "@/lib/platform/audit/event-types";
import type { Locale } from "@/lib/platform/locale";

/** The events of an account in German. Those of operators are in English. */
const GERMAN: Partial<Record<AuditEventType, string>> = {
  registered: "Konto erstellt",
  email_verified: "E-Mail-Adresse bestätigt",
  signed_in: "Angemeldet",
  sign_in_failed: "Anmeldung fehlgeschlagen: falsches Passwort",
  signed_out: "Abgemeldet",
  reauthenticated: "Identität bestätigt",
  reported_not_me: "Per E-Mail gemeldet: überall abgemeldet",
  password_reset: "Passwort zurückgesetzt",
  password_changed: "Passwort geändert",
  email_change_requested: "Änderung der E-Mail-Adresse veranlasst",
  email_change_canceled: "Änderung der E-Mail-Adresse abgebrochen",
  email_changed: "E-Mail-Adresse geändert",
  email_change_undone: "Änderung der E-Mail-Adresse rückgängig gemacht",
  identity_linked: "Anbieter hinzugefügt",
  identity_unlinked: "Anbieter entfernt",
  totp_added: "Authenticator-App hinzugefügt",
  totp_removed: "Authenticator-App entfernt",
  recovery_codes_renewed: "Neue Wiederherstellungscodes",
  recovery_code_used: "Wiederherstellungscode benutzt",
  second_factor_failed: "Anmeldung fehlgeschlagen: falscher Code",
  factors_reset: "Zweite Faktoren vom Support entfernt",
  passkey_added: "Passkey hinzugefügt",
  passkey_removed: "Passkey entfernt",
  passkey_refused: "Fehlgeschlagener Versuch mit einem Passkey",
  passkey_copied: "Passkey abgelehnt: vielleicht wurde er kopiert",
  device_verified: "Gerät bestätigt",
  exported: "Daten exportiert",
  role_changed: "Rolle geändert",
  account_disabled: "Konto gesperrt",
  account_enabled: "Konto entsperrt",
  account_deleted: "Konto gelöscht",
};

/** What an event of the audit trail is called on the account page. */
export function eventLabel(type: string, locale: Locale): string {
  const english = EVENT_LABELS[type as AuditEventType] ?? type;
  return locale === "de" ? (GERMAN[type as AuditEventType] ?? english) : english;
}
