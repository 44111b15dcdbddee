const CREDENTIAL_ID = "hL2mH0yMRvZzqq1d4hb_QBpkhPSOFjDTqlq0qD4vJ5Y";
const CHALLENGE = "u0kB7s1yV0mGm2m3wqv6mJmHfH0mC8m0Kq2l8aQx9bE";
const DESCRIPTOR = { id: CREDENTIAL_ID, type: "public-key", transports: ["internal", "hybrid"] };
/** {"type":"webauthn.get","challenge":"…","origin":"https://api.example.com"} */
const CLIENT_DATA =
  "eyJ0eXBlIjoid2ViYXV0aG4uZ2V0IiwiY2hhbGxlbmdlIjoidTBrQjdzMXlWMG1HbTJtM3dxdjZtSm1IZkgwbUM4bTBLcTJsOGFReDliRSIsIm9yaWdpbiI6Imh0dHBzOi8vYXBpLmV4YW1wbGUuY29tIn0";

export const PASSKEY = {
  id: "0198d2f4-4a10-7b3c-9f21-8c5d7e6a1b20",
  name: "Ann's iPhone",
  credentialId: CREDENTIAL_ID,
  transports: ["internal", "hybrid"],
  isSynced: true,
  createdAt: "2026-11-20T09:00:00.000Z",
  lastUsedAt: null,
};

export const CREATION_OPTIONS = {
  challenge: CHALLENGE,
  rp: { id: "api.example.com", name: "Homeport" },
  user: { id: "AZjS9DwefBqbfl0vimtMEA", name: "ann@example.com", displayName: "Ann" },
  pubKeyCredParams: [
    { type: "public-key", alg: -7 },
    { type: "public-key", alg: -257 },
  ],
  timeout: 300_000,
  attestation: "none",
  excludeCredentials: [],
  authenticatorSelection: { residentKey: "required", requireResidentKey: true, userVerification: "required" },
};

const REQUEST_OPTIONS = { challenge: CHALLENGE, rpId: "api.example.com", timeout: 300_000 };
export const SIGN_IN_OPTIONS = { ...REQUEST_OPTIONS, allowCredentials: [], userVerification: "required" };
export const STEP_UP_OPTIONS = { ...SIGN_IN_OPTIONS, allowCredentials: [DESCRIPTOR] };

export const REGISTRATION = {
  id: CREDENTIAL_ID,
  rawId: CREDENTIAL_ID,
  type: "public-key",
  response: {
    clientDataJSON: CLIENT_DATA,
    attestationObject: "o2NmbXRkbm9uZWdhdHRTdG10oGhhdXRoRGF0YVik",
    transports: ["internal", "hybrid"],
  },
};

export const ASSERTION = {
  id: CREDENTIAL_ID,
  rawId: CREDENTIAL_ID,
  type: "public-key",
  response: {
    clientDataJSON: CLIENT_DATA,
    authenticatorData: "SZYN5YgOjGh0NBcPZHZgW4_krrmihjLHmVzzuoMdl2MdAAAAAA",
    signature: "MEUCIQDwvq0P1Yc3pX8xk0a5m1Tg2l0aHc3s8T0mE0oYk1cJXwIgS3o",
    userHandle: "AZjS9DwefBqbfl0vimtMEA",
  },
};
