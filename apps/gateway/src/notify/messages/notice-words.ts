import type { ReceiptLanguage } from '#paper';

const UZ = {
  ask: 'Bu sotuvchining cheklari endi ushbu manzilga yuborilmasinmi?',
  button: 'Yuborilmasin',
  ended: 'Bajarildi: bu sotuvchidan ushbu manzilga xabarlar yuborilmaydi.',
  sent: 'Chek yuborilmoqda:',
  notSent: 'Chek yuborilmadi.',
  nothingSent: 'Bu chek hech qayerga yuborilmagan.',
  back: 'Chekka qaytish',
};

/** What the small pages around messages say. */
export const NOTICE_WORDS: Readonly<Record<ReceiptLanguage, typeof UZ>> = {
  uz: UZ,
  ru: {
    ask: 'Больше не присылать чеки этого продавца на этот адрес?',
    button: 'Не присылать',
    ended: 'Готово: сообщения этого продавца на этот адрес больше не отправляются.',
    sent: 'Чек отправляется:',
    notSent: 'Чек не отправлен.',
    nothingSent: 'Этот чек никуда не отправлялся.',
    back: 'Вернуться к чеку',
  },
  en: {
    ask: 'Stop sending receipts of this seller to this address?',
    button: 'Stop sending',
    ended: 'Done: no messages of this seller go to this address any more.',
    sent: 'The receipt is on its way:',
    notSent: 'The receipt was not sent.',
    nothingSent: 'This receipt was not sent anywhere.',
    back: 'Back to the receipt',
  },
};
