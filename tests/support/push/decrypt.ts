import { createDecipheriv, type ECDH, hkdfSync } from "node:crypto";

/** Decrypts a message for a browser, of one record (RFC 8291, section 3.4; RFC 8188, section 2). */
export function decrypt(body: Buffer, curve: ECDH, auth: Buffer): string {
  const [salt, keyLength] = [body.subarray(0, 16), body.readUInt8(20)];
  const [senderKey, record] = [body.subarray(21, 21 + keyLength), body.subarray(21 + keyLength)];
  const derive = (secret: Buffer, from: Buffer, info: string | Buffer, length: number) =>
    Buffer.from(hkdfSync("sha256", secret, from, info, length));
  const keyInfo = Buffer.concat([Buffer.from("WebPush: info\0"), curve.getPublicKey(), senderKey]);
  const secret = derive(curve.computeSecret(senderKey), auth, keyInfo, 32);
  const key = derive(secret, salt, "Content-Encoding: aes128gcm\0", 16);
  const decipher = createDecipheriv("aes-128-gcm", key, derive(secret, salt, "Content-Encoding: nonce\0", 12));
  decipher.setAuthTag(record.subarray(-16));
  const padded = Buffer.concat([decipher.update(record.subarray(0, -16)), decipher.final()]);
  return padded.subarray(0, padded.lastIndexOf(2)).toString(); // the delimiter of the last record
}
