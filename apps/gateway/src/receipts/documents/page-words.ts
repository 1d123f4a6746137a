import type { ReceiptLanguage } from '#paper';

/** What the receipt's page says beside the words of the printed receipt. */
const EN = {
  /** Name of the language in itself. */
  language: 'English',
  ...{ sum: 'UZS', phone: 'Phone' },
  statuses: {
    awaiting_payment: {
      title: 'Waiting for payment',
      detail: 'The receipt is issued as soon as the payment is confirmed.',
    },
    accepted: { title: 'Being registered', detail: 'The cash register is about to register this receipt.' },
    sending: { title: 'Being registered', detail: 'The cash register is registering this receipt.' },
    registered: { title: 'Fiscal receipt', detail: 'Registered by the seller’s cash register.' },
    rejected: {
      title: 'Not registered',
      detail: 'The cash register refused this receipt. It is not a fiscal document: please ask the seller.',
    },
    unknown: {
      title: 'Being checked',
      detail: 'The seller is finding out whether the cash register has registered this receipt.',
    },
    cancelled: {
      title: 'Cancelled',
      detail: 'This receipt was cancelled before it was registered. It is not a fiscal document.',
    },
  },
  /** Instead of `registered`, when a test module registered it. */
  test: { title: 'Test receipt', detail: 'Registered by a test module. It is not a fiscal receipt.' },
  /** Neither registered nor ended yet. */
  notFiscalYet: 'NOT A FISCAL RECEIPT',
  onItsWay: 'On its way to the tax authority, at the latest within 48 hours. Until then the check may not find it.',
  /** Instead of `onItsWay`, and instead of the way to the check. */
  testUnchecked: 'The tax authority’s check does not know test receipts.',
  signUnknown: 'not known yet',
  withoutSign: 'Documents of this type have no fiscal sign.',
  accepted: 'Accepted',
  cashier: 'Cashier',
  packageCode: 'Package',
  refunded: 'Refunded',
  refundedWhole: 'Refunded in full',
  /** Before the moment for which a document that changes with each refund is true. */
  asOf: 'As of',
  /** What the seller says beside the fiscal document. */
  notInDocument: 'Stated by the seller. Not part of the fiscal receipt:',
  line: 'Line',
  refund: 'Refund',
  sale: 'Receipt of the sale',
  check: 'Check with the tax authority',
  takeAway: 'Keep a copy',
  picture: 'Picture',
  text: 'Text',
  missing: {
    title: 'There is no such receipt',
    detail: 'The address may be incomplete. Please open it once more from the QR code or from the seller’s message.',
  },
  /** Instead of `missing`, where the receipt has left for an archive. */
  archived: {
    title: 'The receipt is in an archive',
    detail: 'It is older than receipts are kept at this address. Please ask the seller for it.',
  },
  ...{ send: 'Send to me', sendButton: 'Send', emailAddress: 'E-mail', inTelegram: 'Receive in Telegram' },
  ...{ share: 'Share', printed: 'Print', stopMessages: 'Do not send me receipts of this seller' },
};

export type PageWords = typeof EN;

const RU: PageWords = {
  ...{ language: 'Русский', sum: 'сум', phone: 'Телефон' },
  statuses: {
    awaiting_payment: { title: 'Ожидает оплаты', detail: 'Чек будет выдан сразу после подтверждения оплаты.' },
    accepted: { title: 'Регистрируется', detail: 'Касса скоро зарегистрирует этот чек.' },
    sending: { title: 'Регистрируется', detail: 'Касса регистрирует этот чек.' },
    registered: { title: 'Фискальный чек', detail: 'Зарегистрирован кассой продавца.' },
    rejected: {
      title: 'Не зарегистрирован',
      detail: 'Касса отклонила этот чек. Это не фискальный документ: обратитесь к продавцу.',
    },
    unknown: { title: 'Проверяется', detail: 'Продавец выясняет, зарегистрировала ли касса этот чек.' },
    cancelled: { title: 'Отменён', detail: 'Чек отменён до регистрации. Это не фискальный документ.' },
  },
  test: { title: 'Тестовый чек', detail: 'Зарегистрирован тестовым модулем. Это не фискальный чек.' },
  notFiscalYet: 'НЕ ФИСКАЛЬНЫЙ ЧЕК',
  onItsWay: 'Передаётся в налоговый орган, не позднее чем за 48 часов. До этого проверка может не найти чек.',
  testUnchecked: 'Проверка налогового органа тестовых чеков не знает.',
  signUnknown: 'пока неизвестен',
  withoutSign: 'У документов этого вида нет фискального признака.',
  accepted: 'Принят',
  cashier: 'Кассир',
  packageCode: 'Упаковка',
  refunded: 'Возвращено',
  refundedWhole: 'Возвращено полностью',
  asOf: 'По состоянию на',
  notInDocument: 'Указано продавцом. Не входит в фискальный чек:',
  line: 'Позиция',
  refund: 'Возврат',
  sale: 'Чек продажи',
  check: 'Проверить в налоговом органе',
  takeAway: 'Сохранить копию',
  picture: 'Картинка',
  text: 'Текст',
  missing: {
    title: 'Такого чека нет',
    detail: 'Возможно, адрес неполный. Откройте его ещё раз по QR-коду или из сообщения продавца.',
  },
  archived: {
    title: 'Чек в архиве',
    detail: 'Он старше срока, в течение которого чеки хранятся по этому адресу. Обратитесь к продавцу.',
  },
  ...{ send: 'Отправить мне', sendButton: 'Отправить', emailAddress: 'Эл. почта', inTelegram: 'Получить в Telegram' },
  ...{ share: 'Поделиться', printed: 'Печать', stopMessages: 'Не присылать мне чеки этого продавца' },
};

const UZ: PageWords = {
  ...{ language: 'O‘zbekcha', sum: 'so‘m', phone: 'Telefon' },
  statuses: {
    awaiting_payment: { title: 'To‘lov kutilmoqda', detail: 'Chek to‘lov tasdiqlangan zahoti beriladi.' },
    accepted: { title: 'Ro‘yxatga olinmoqda', detail: 'Kassa bu chekni tez orada ro‘yxatga oladi.' },
    sending: { title: 'Ro‘yxatga olinmoqda', detail: 'Kassa bu chekni ro‘yxatga olmoqda.' },
    registered: { title: 'Fiskal chek', detail: 'Sotuvchining kassasi ro‘yxatga olgan.' },
    rejected: {
      title: 'Ro‘yxatga olinmagan',
      detail: 'Kassa bu chekni rad etdi. Bu fiskal hujjat emas: sotuvchiga murojaat qiling.',
    },
    unknown: { title: 'Tekshirilmoqda', detail: 'Sotuvchi kassa bu chekni ro‘yxatga olganini aniqlamoqda.' },
    cancelled: {
      title: 'Bekor qilingan',
      detail: 'Chek ro‘yxatga olinishidan oldin bekor qilingan. Bu fiskal hujjat emas.',
    },
  },
  test: { title: 'Sinov cheki', detail: 'Sinov moduli ro‘yxatga olgan. Bu fiskal chek emas.' },
  notFiscalYet: 'FISKAL CHEK EMAS',
  onItsWay: 'Soliq organiga ko‘pi bilan 48 soat ichida yetkaziladi. Ungacha tekshiruv chekni topmasligi mumkin.',
  testUnchecked: 'Soliq organidagi tekshiruv sinov cheklarini bilmaydi.',
  signUnknown: 'hozircha noma’lum',
  withoutSign: 'Bu turdagi hujjatlarda fiskal belgi bo‘lmaydi.',
  accepted: 'Qabul qilingan',
  cashier: 'Kassir',
  packageCode: 'Qadoq',
  refunded: 'Qaytarilgan',
  refundedWhole: 'To‘liq qaytarilgan',
  asOf: 'Holat sanasi',
  notInDocument: 'Sotuvchi ko‘rsatgan. Fiskal chekka kirmaydi:',
  line: 'Pozitsiya',
  refund: 'Qaytarish',
  sale: 'Savdo cheki',
  check: 'Soliq organida tekshirish',
  takeAway: 'Nusxasini saqlash',
  picture: 'Rasm',
  text: 'Matn',
  missing: {
    title: 'Bunday chek yo‘q',
    detail: 'Manzil to‘liq bo‘lmasligi mumkin. Uni QR-kod yoki sotuvchi xabari orqali qayta oching.',
  },
  archived: {
    title: 'Chek arxivda',
    detail: 'U cheklar shu manzilda saqlanadigan muddatdan eski. Iltimos, sotuvchiga murojaat qiling.',
  },
  ...{ send: 'Menga yuborish', sendButton: 'Yuborish', emailAddress: 'E-pochta', inTelegram: 'Telegram orqali olish' },
  ...{ share: 'Ulashish', printed: 'Chop etish', stopMessages: 'Menga bu sotuvchining cheklari yuborilmasin' },
};

export const PAGE_WORDS: Readonly<Record<ReceiptLanguage, PageWords>> = { ru: RU, uz: UZ, en: EN };
